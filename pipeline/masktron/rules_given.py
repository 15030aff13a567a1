"""Rules in plain text that are no file: those that Python or a file of settings gives."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from masktron.errors import UsageError
from masktron.files import file_hash
from masktron.problems.problem import SettingName


class GivenRules(Path):
    """Rules where the name of a rulebook may stand.

    They are a `Path` so that whatever passes on the name of a rulebook, and opens none, takes both.

    Parameters
    ----------
    text : str
        As a file of rules has it.
    shown : str
        What messages call them.
    missing_fails : bool
        Whether a comparison with a missing value fails, and is not undecided.
    """

    def __init__(self, text: str, shown: str = "rules", missing_fails: bool = False) -> None:
        super().__init__(shown)
        self.text, self.missing_fails = text, missing_fails
        self._shown = shown

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self._shown, self.missing_fails)

    def with_segments(self, *segments: Any) -> Path:  # type: ignore[override] # such as the folder that it is not in
        """Return a plain path: what is made of rules is none."""
        return Path(*segments)


def rules(*given: str, missing: Literal["undecided", "fails"] = "undecided") -> GivenRules:
    """Give rules in plain text where a function takes the name of a rulebook.

    Parameters
    ----------
    *given : str
        Rules, with a name or without: ``"income_sum: wage + other == income"``. A text may have several, on lines.
    missing : {"undecided", "fails"}
        What a comparison with a missing value does.

    Raises
    ------
    RulebookError
        Rules cannot be read: all of them, each with what was probably meant.
    UsageError
        `missing` is something else, or no rule is given.

    Examples
    --------
    >>> import masktron
    >>> edits = masktron.rules("wage + other == income", "age in 16..110")
    >>> result = masktron.validate("survey.csv", edits)  # doctest: +SKIP
    """
    if missing not in ("undecided", "fails"):
        expected = "'undecided' or 'fails'"
        raise UsageError.of("bad-value", name=SettingName("missing"), expected=expected, given=repr(missing))
    texts = [one for one in given if isinstance(one, str) and one.strip()]
    if not texts or len(texts) < len(given):
        raise UsageError.of("bad-value", name=SettingName("rules"), expected="texts of rules", given=repr(given))
    from masktron.rulebook.plain.reading import read_plain  # noqa: PLC0415 -- loads lark

    found = GivenRules("\n".join(texts), missing_fails=missing == "fails")
    read_plain(found.text, str(found))
    return found


def rules_hash(path: Path) -> str:
    """Return the SHA-256 of rules in hexadecimal: of the bytes of their file, or of their text in UTF-8."""
    return sha256(path.text.encode()).hexdigest() if isinstance(path, GivenRules) else file_hash(path)
