"""``masktron rules``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from attrs import field

from masktron.commands import running
from masktron.commands.base import JsonLine, Line, Plain
from masktron.config import Config
from masktron.declared import HOW, OUTPUT, Shape, checked, declared, with_commas
from masktron.errors import UsageError
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.jobs.rules import TextChange
    from masktron.results import RulesResult

_NAMED = "by its id, or # and its number"


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class RulesLine(JsonLine):
    """A rulebook that is changed in its place."""

    def refuse_outputs(
        self,
        written: Mapping[str, Path | None],
        inputs: Mapping[str, Path | None],
        own: Mapping[str, Any],
        config: Config | None = None,
    ) -> None:
        """Refuse outputs in the places of inputs; only the changed file may take the place of the rulebook."""
        del own, config
        running.check_outputs({**written, "--out": None}, inputs)
        running.check_outputs(written, {**inputs, "the rulebook": None})


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Rules(Plain):
    """List the rules of a file, or change one where it stands.

    Whether a rule means something says masktron explain.
    """

    name = "rules"
    line: ClassVar[type[Line]] = RulesLine
    shows_progress = False

    rulebook: Path = field(
        converter=Path, metadata=declared("Schematron rulebook.", metavar="RULES.sch", reads="the rulebook")
    )
    change: str | None = field(
        default=None,
        metadata=declared(f"Change this rule, {_NAMED}; with what it is to have.", HOW, metavar="ID"),
    )
    add: bool = field(
        default=False,
        metadata=declared(
            "Add a rule of --context, --test and --message, and --id; in a new file, too.",
            HOW,
            form=Shape.SWITCH,
        ),
    )
    suggested: Path | None = field(
        default=None,
        metadata=declared(
            "Add the proposals in it that --accept names.", HOW, metavar="SUGGEST.json", read=Path,
            reads="the proposals",
        ),
    )  # fmt: skip
    remove: str | None = field(default=None, metadata=declared(f"Remove this rule, {_NAMED}.", HOW, metavar="ID"))
    up: str | None = field(default=None, metadata=declared("Change places with the rule before.", HOW, metavar="ID"))
    down: str | None = field(default=None, metadata=declared("Change places with the rule after.", HOW, metavar="ID"))
    id: str | None = field(default=None, metadata=declared("Its id.", HOW, metavar="ID"))
    context: str | None = field(
        default=None, metadata=declared("The records that it is asked of.", HOW, metavar="XPATH")
    )
    test: str | None = field(default=None, metadata=declared("What has to hold.", HOW, metavar="XPATH"))
    message: str | None = field(
        default=None,
        metadata=declared("What is wrong where it fails; {Income} shows a value.", HOW, metavar="TEXT"),
    )
    soft: bool | None = field(
        default=None,
        metadata=declared('Whether a failure is only told: role="warning".', HOW, form=Shape.SWITCH, off="--hard"),
    )
    accept: list[str] = field(
        factory=list,
        metadata=declared(
            "Proposals to add; repeatable.", HOW, metavar="1,3,ID", form=Shape.LIST, collect=with_commas
        ),
    )
    out: Path | None = field(
        default=None,
        metadata=declared(
            "The changed file.", OUTPUT, short="-o", metavar="RULES.sch", shown="in place", read=Path, writes=True
        ),
    )

    def run(self, progress: Progress = no_progress) -> RulesResult:
        """List the rules, or change them."""
        del progress
        asked = {
            "--change": self.change,
            "--add": self.add or None,
            "--suggested": self.suggested,
            "--remove": self.remove,
            "--up": self.up,
            "--down": self.down,
        }
        given = [name for name, value in asked.items() if value is not None]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} are two changes", hint="make one after the other")
        parts = {"id": self.id, "context": self.context, "test": self.test, "message": self.message}
        wanted = {name: text for name, text in parts.items() if text is not None}
        if self.soft is not None:
            wanted["role"] = "warning" if self.soft else ""
        for name in wanted:
            _require_change(f"--{'soft' if name == 'role' else name}", given, ("--change", "--add"))
        if self.accept:
            _require_change("--accept", given, ("--suggested",))
        if self.out is not None and not given:
            raise UsageError("--out needs a change", hint="--change, --add, --suggested, --remove, --up or --down")
        from masktron.jobs.rules import run_rules
        from masktron.rulebook_text.rule_changes import empty_rulebook

        new = empty_rulebook(self.rulebook.stem) if self.add or self.suggested is not None else None
        return run_rules(self.rulebook, _change(given, asked, wanted, self.accept), self.out, begin=new)


def _require_change(option: str, given: list[str], takes: tuple[str, ...]) -> None:
    if not {*given} & {*takes}:
        raise UsageError(f"{option} needs {' or '.join(takes)}", hint="say which rule is meant")


def _change(
    given: list[str], asked: Mapping[str, str | bool | Path | None], wanted: dict[str, str], accept: list[str]
) -> TextChange | None:
    from masktron.rulebook_text.accepted import accepted_rules
    from masktron.rulebook_text.rule_changes import NewRule, moved, with_parts, with_rules, without

    if not given:
        return None
    named = asked[given[0]]
    match given[0], named:
        case "--change", str():
            return partial(with_parts, name=named, parts=wanted)
        case "--add", _:
            new = NewRule(*(wanted.get(part, "") for part in ("context", "test", "message", "id", "role")))
            return partial(with_rules, added=[new])
        case "--remove", str():
            return partial(without, name=named)
        case _, Path():
            added, namespaces = accepted_rules(_read(named), accept)
            return partial(with_rules, added=added, namespaces=namespaces)
        case _, str():
            return partial(moved, name=named, up=given[0] == "--up")
    raise AssertionError


def _read(path: Path) -> dict[str, object]:
    from json import JSONDecodeError, loads

    from masktron.files import read_text

    try:
        found = loads(read_text(path, "the proposals"))
    except JSONDecodeError as error:
        raise UsageError(f"not valid JSON: {error.msg}", where=f"{path}:{error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError("not valid JSON: nested too deeply, or a number is too long", where=str(path)) from error
    if not isinstance(found, dict):
        raise UsageError("the file is not what masktron suggest has written", where=str(path))
    return found
