"""Rules in plain text that are no file: those that Python or a file of settings gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from masktron.declared import Settings, WrongValue, setting
from masktron.errors import RulebookError, UsageError
from masktron.files import file_hash, refuse_special
from masktron.problems.problem import Place, Problem, SettingName
from masktron.resources import NO_RULES
from masktron.toml_text import TomlStatement, TomlText

if TYPE_CHECKING:
    from masktron.rulebook.plain.reading import Places

type OnMissing = Literal["undecided", "fails"]
OPTIONS = "options"
"""The table in ``[rules]`` that has no rules."""
OF_VALIDATE = (".r", ".txt", ".yaml", ".yml")
"""How names of files end that R's package validate reads."""
_MOST_BYTES = 10_000_000
_FAILS = "\0missing fails"


class RuleOptions(Settings):
    """What ``[rules.options]`` in a file of settings says of all its rules."""

    missing: OnMissing = setting("What a comparison with a missing value does.", default="undecided")


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
    places : tuple of Places
        Where the signs of each line stand in a file of settings; empty where that is nowhere.
    """

    def __init__(
        self, text: str, shown: str = "rules", missing_fails: bool = False, places: tuple[Places, ...] = ()
    ) -> None:
        super().__init__(shown)
        self.text, self.missing_fails, self.places = text, missing_fails, places
        self._shown = shown

    def __bool__(self) -> bool:
        """Whether there are any; settings may say something of the rules of a file alone."""
        return bool(self.text)

    def beside(self, named: Path) -> Path:
        """Return the rules that count where a command names a rulebook: with the options of these.

        Raises
        ------
        RulebookError
            The file of rules cannot be read.
        """
        if named == NO_RULES:
            return self if self else named
        if not self.missing_fails or isinstance(named, GivenRules) or named.suffix.lower() != ".rules":
            return named
        return GivenRules(text_of_rules(named), str(named), missing_fails=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenRules) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self._shown, self.missing_fails, self.places)

    def with_segments(self, *segments: Any) -> Path:  # type: ignore[override] # such as the folder that it is not in
        """Return a plain path: what is made of rules is none."""
        return Path(*segments)


def is_plain(rules: Path) -> bool:
    """Tell whether a file has rules in plain text."""
    return isinstance(rules, GivenRules) or rules.suffix.lower() in (".rules", *OF_VALIDATE)


def text_of_rules(path: Path) -> str:
    """Read a file of rules in plain text.

    Raises
    ------
    RulebookError
        It cannot be read.
    """
    refuse_special(path, RulebookError)
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise RulebookError.of("cannot-read", path, file="rulebook", reason=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RulebookError.of("plain-encoding", Place(str(path), line)) from error
    if len(content) > _MOST_BYTES:
        raise RulebookError.of("not-supported", path, construct="rules of more than 10 MB", instead="split the file")
    return text


def rules(*given: str, missing: OnMissing = "undecided") -> GivenRules:
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
    from masktron.rulebook.plain.slips import require_readable  # noqa: PLC0415 -- so, too

    found = GivenRules("\n".join(texts), missing_fails=missing == "fails")
    require_readable(read_plain(found.text, str(found)).wrong, str(found))
    return found


def rules_in(given: object, toml: str, where: str) -> GivenRules | None:
    """Return the rules of the table ``[rules]`` in a file of settings; None where it says nothing.

    Each key is the name of a rule, as a file of rules has it: ``"warn hours"`` is one that is soft. A comment behind
    the rule is its label. A text that begins with ``:=`` is what its name stands for in other rules.

    Parameters
    ----------
    given : value
        The table.
    toml, where : str
        The text of the file, and its name for messages.

    Raises
    ------
    UsageError
        Entries are no rules: all of them. Or there is no such option, or it has a wrong value.
    """
    from masktron.rulebook.plain.slips import several  # noqa: PLC0415 -- only such files need it

    text = toml.replace("\r\n", "\n")
    there = TomlText(text)
    if not isinstance(given, Mapping):
        raise UsageError.of("rules-no-table", Place(where, there.line_of(("rules",))))
    options = given.get(OPTIONS) if isinstance(given.get(OPTIONS), Mapping) else {}
    # of a table within, where it begins
    written = {one.path[:2]: (one, at, line) for at, line, one in reversed([*there.statements()])}
    entries = [
        _Entry(
            name,
            said.strip() if isinstance(said, str) else said,
            *(written.get(("rules", name)) or written["rules",]),
        )
        for name, said in given.items()
        if said is not options
    ]
    if wrong := [problem.at(Place(where, one.line)) for one in entries if (problem := one.problem()) is not None]:
        raise UsageError(several(wrong, where))
    try:
        missing = RuleOptions.parts("rules.options", options).get("missing")
    except WrongValue as error:
        problem = error.within(OPTIONS).of_setting("rules")
        raise UsageError(problem.at(Place(where, there.line_of(("rules", *error.keys))))) from None
    lines = [one.written(text) for one in entries]
    found = "\n".join(line for line, _ in lines)
    fails = missing == "fails"
    return GivenRules(found, where, fails, tuple(places for _, places in lines)) if lines or fails else None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A rule, or a definition, in a file of settings: its key and value, and the statement that has it."""

    name: str
    said: Any
    statement: TomlStatement
    at: int
    line: int

    @property
    def text(self) -> str:
        """It as a file of rules has it, without its label."""
        return f"{self.name} {self.said}" if self.said.startswith(":=") else f"{self.name}: {self.said}"

    def problem(self) -> Problem | None:
        """Say why it is no rule, whatever its text means."""
        from masktron.rulebook.plain.reading import named  # noqa: PLC0415 -- loads lark

        if not isinstance(self.said, str):
            given, hint = repr(self.said), ""
            if isinstance(self.said, Mapping):
                given, hint = (
                    "a table",
                    'options stand in [rules.options]; quote a name with a dot: "a.b" = "age >= 16"',
                )
            name, expected = SettingName("rules", (self.name,)), 'a rule in quotes, such as "age >= 16"'
            return Problem("bad-value", name=name, expected=expected, given=given, hint=hint or None)
        return None if named(self.text.removesuffix(self.said)) else Problem("plain-name", name=self.name)

    def written(self, toml: str) -> tuple[str, Places]:
        """Return it in one line of a file of rules, and the places of its signs in the file of settings."""
        from masktron.rulebook.plain.reading import places_of, without_comment  # noqa: PLC0415 -- loads lark

        begin, end = (self.at + one for one in self.statement.value)
        exact = toml.find(self.said, begin, end)
        begin = exact if exact >= 0 else begin + 1  # behind the quotation mark
        key = self.line, 1 + len(self.statement.text) - len(self.statement.text.lstrip())
        before = (key,) * (len(self.text) - len(self.said))
        line = self.line + toml.count("\n", self.at, begin)
        left = (*before, *places_of(self.said, toml, begin, end, line))
        code, labels, places = "", list[str](), list[tuple[int, int]]()
        for one in self.text.splitlines(keepends=True):
            rule, comment = without_comment(one.splitlines()[0])
            begin = len(rule) - len(rule.lstrip())
            places += left[begin : len(rule.rstrip()) + 1]
            code, labels, left = f"{code}{rule.strip()} ", [*labels, comment], left[len(one) :]
        labels += [self.statement.trailing.removeprefix("#")] if self.statement.path[1:] else []
        label = " ".join(" ".join(labels).split())
        return f"{code.rstrip()}  # {label}" if label else code.rstrip(), tuple(places)


def table_of(given: GivenRules) -> dict[str, Any]:
    """Return rules as the table of a file of settings; their labels stand in their texts."""
    from masktron.rulebook.plain.reading import statements  # noqa: PLC0415 -- loads lark
    from masktron.rulebook.plain.tree import WORDS  # noqa: PLC0415 -- see there

    table: dict[str, Any] = {}
    for one in statements(given.text):
        said = f":= {one.text}" if one.defines else one.text
        label = f"  # {one.label}" if one.label else ""
        table[f"{WORDS[one.severity]}{one.name}"] = f"{said.rstrip()}{label}"
    return table | ({OPTIONS: {"missing": "fails"}} if given.missing_fails else {})


def rules_hash(path: Path) -> str:
    """Return the SHA-256 of rules in hexadecimal: of the bytes of their file, or of their text and its options."""
    if not isinstance(path, GivenRules):
        return file_hash(path)
    return sha256(f"{path.text}{_FAILS if path.missing_fails else ''}".encode()).hexdigest()


def rules_kept(path: Path) -> dict[str, Any]:
    """Return what a manifest says of rules beside their name: their SHA-256; their text where they are no file."""
    kept: dict[str, Any] = {"sha256": rules_hash(path)}
    if isinstance(path, GivenRules):
        lines = [places[0][0] for places in path.places]
        kept |= {"text": path.text, "missing": "fails" if path.missing_fails else "undecided", "lines": lines}
    return kept


def rules_again(kept: Mapping[str, Any], manifest: Path) -> GivenRules | None:
    """Return the rules that a manifest has; None where they are a file.

    Raises
    ------
    UsageError
        What the manifest says of them contradicts itself.
    """
    if "text" not in kept:
        return None
    try:
        places = tuple(((int(line), 0),) for line in kept["lines"])
        found = GivenRules(kept["text"], kept["path"], kept["missing"] == "fails", places)
        same = len(places) in (0, len(found.text.splitlines())) and rules_hash(found) == kept["sha256"]
    except (KeyError, TypeError, ValueError, AttributeError):
        same = False
    if not same:
        raise UsageError.of("not-a-manifest", manifest, reason="its rules are not those that it describes")
    return found
