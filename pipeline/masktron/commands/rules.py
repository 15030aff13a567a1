"""``masktron rules``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, override

import click

from masktron.commands import running
from masktron.commands.base import Command, rulebook_at
from masktron.declared import HOW, IN, OUTPUT, setting, with_commas
from masktron.errors import UsageError
from masktron.problems.problem import Place
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.jobs.rules import TextChange
    from masktron.results import RulesResult

type Language = Literal["schematron", "plain", "validate-yaml"]
_NAMED = "by its id, or # and its number"


class Rules(Command):
    """List the rules of a file, change one where it stands, or write them in another language.

    Whether a rule means something says masktron explain.
    """

    name = "rules"
    shows_progress = False

    rulebook: MaybeFilePath = setting(
        "Rulebook: Schematron, plain rules, a file of R's package validate, or settings with [rules].",
        converter=rulebook_at, default=None, kw_only=False, metavar="[RULES.sch]", shown="[rules] of the settings",
        reads="the rulebook",
    )  # fmt: skip
    change: str | None = setting(
        f"Change this rule, {_NAMED}; with what it is to have.", HOW, default=None, metavar="ID"
    )
    add: bool = setting(
        "Add a rule of --context, --test and --message, and --id; in a new file, too.", HOW, default=False
    )
    suggested: Path | None = setting(
        "Add the proposals in it that --accept names.",
        HOW, default=None, metavar="SUGGEST.json", reads="the proposals",
    )  # fmt: skip
    remove: str | None = setting(f"Remove this rule, {_NAMED}.", HOW, default=None, metavar="ID")
    up: str | None = setting("Change places with the rule before.", HOW, default=None, metavar="ID")
    down: str | None = setting("Change places with the rule after.", HOW, default=None, metavar="ID")
    id: str | None = setting("Its id.", HOW, default=None, metavar="ID")
    context: str | None = setting("The records that it is asked of.", HOW, default=None, metavar="XPATH")
    test: str | None = setting("What has to hold.", HOW, default=None, metavar="XPATH")
    message: str | None = setting(
        "What is wrong where it fails; {Income} shows a value.", HOW, default=None, metavar="TEXT"
    )
    soft: bool | None = setting('Whether a failure is only told: role="warning".', HOW, default=None, off="--hard")
    to: Language | None = setting("Write the rules in another language.", HOW, default=None, page="writing-rules")
    data: MaybeFilePath = setting(
        "With --to: a file that says how records and fields are called.",
        IN, default=None, metavar="DATA", reads="the data",
    )  # fmt: skip
    accept: list[str] = setting("Proposals to add.", HOW, factory=list, metavar="1,3,ID", collect=with_commas)
    out: Path | None = setting(
        "The changed file, or the new one of --to.",
        OUTPUT,
        default=None,
        short="-o",
        metavar="RULES.sch",
        shown="in place",
        writes=True,
    )

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        # the changed file, and no other output, may take the place of the rulebook
        running.check_outputs({**written, "--out": None}, inputs)
        running.check_outputs(written, {**inputs, "the rulebook": None})

    @override
    def tell(self, result: Any) -> None:
        if not result.text or self.out is not None or running.is_stdout(self.json):
            super().tell(result)
            return
        from masktron.report.text import printable

        click.echo(printable(result.text), nl=False)  # as it is, for a file or a pipe
        running.write(result.as_dict(), self.json)

    def run(self, progress: Progress = no_progress) -> RulesResult:
        """List the rules, or change them."""
        asked = {
            "--change": self.change,
            "--add": self.add or None,
            "--suggested": self.suggested,
            "--remove": self.remove,
            "--up": self.up,
            "--down": self.down,
            "--to": self.to,
        }
        given = [name for name, value in asked.items() if value is not None]
        if len(given) > 1:
            raise UsageError.of(
                "given-twice", one=given[0], other=given[1], why=", and make one change after the other"
            )
        parts = {"id": self.id, "context": self.context, "test": self.test, "message": self.message}
        wanted = {name: text for name, text in parts.items() if text is not None}
        if self.soft is not None:
            wanted["role"] = "warning" if self.soft else ""
        for name in wanted:
            _require_change(f"--{'soft' if name == 'role' else name}", given, ("--change", "--add"))
        if self.data is not None:
            _require_change("--data", given, ("--to",))
        if self.accept:
            _require_change("--accept", given, ("--suggested",))
        if self.out is not None and not given:
            changes = " or ".join(("--change", "--add", "--suggested", "--remove", "--up", "--down", "--to"))
            raise UsageError.of("needs-setting", name="--out", setting=changes, needed="another option")
        rulebook = self.rulebook or self.given_rules
        if not rulebook:
            raise UsageError.of("no-rules")
        if self.to is not None:
            from masktron.jobs.rules_written import run_rules_written

            return run_rules_written(rulebook, self.to, self.data, self.out, config=self.settled, progress=progress)
        from masktron.jobs.rules import run_rules
        from masktron.rulebook_text.rule_changes import empty_rulebook

        new = empty_rulebook(rulebook.stem) if self.add or self.suggested is not None else None
        return run_rules(rulebook, _change(given, asked, wanted, self.accept), self.out, begin=new)


def _require_change(option: str, given: list[str], takes: tuple[str, ...]) -> None:
    if not {*given} & {*takes}:
        raise UsageError.of("needs-setting", name=option, setting=" or ".join(takes), needed="another option")


def _change(
    given: list[str], asked: Mapping[str, str | bool | Path | None], wanted: dict[str, str], accept: list[str]
) -> TextChange | None:
    from masktron.rulebook_text.rule_changes import NewRule, accepted_rules, moved, with_parts, with_rules, without

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
        raise UsageError.of("not-suggested-rules", Place(str(path), error.lineno), reason=f": {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError.of("not-suggested-rules", path, reason=": it is no usual JSON") from error
    if not isinstance(found, dict):
        raise UsageError.of("not-suggested-rules", path)
    return found
