"""What commands are made of: each is a class whose fields are what it takes, on the command line and in Python.

A command has a `run`, which returns a result. On the command line it may take more, and shows the result.
`masktron.commands.line` runs commands for it, `masktron.commands.python` as functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, override

from masktron.addresses import typed_path
from masktron.commands import running
from masktron.config import Config
from masktron.declared import IN, LIMITS, OUTPUT, Declared, Settings, Taken, WrongValue, require, setting
from masktron.errors import Exit, UsageError
from masktron.problems.problem import SettingName
from masktron.progress import Progress, no_progress
from masktron.report.formats import FORMATS
from masktron.resources import NO_RULES
from masktron.rules_given import GivenRules
from masktron.setting_values import File, path, place, typed_place

if TYPE_CHECKING:
    import pandas as pd

    from masktron.sources.tables.frames import ArrowFrame
    from masktron.verify.pairing import Stated

type Microdata = File | pd.DataFrame | ArrowFrame
"""A microdata file, the address of a table, ``postgresql://USER@HOST/DB?table=SCHEMA.NAME``, or a frame with one row
per record: of pandas, polars, pyarrow, DuckDB, or another library that has the Arrow C stream."""


def source(given: Microdata) -> Path:
    """Take a path, or what stands for a data frame where jobs pass paths."""
    if isinstance(given, str | PathLike):
        return place(given)
    from masktron.results import MaskResult
    from masktron.sources.tables.frames import is_data_frame, standing_for

    if isinstance(given, MaskResult):
        hint = "give result.data of a data frame that was masked, else result.output"
        raise WrongValue("bad-value", expected="a path or a data frame", given="the result of a run", hint=hint)
    if not is_data_frame(given):
        hint = "give the name of a file, or a frame of pandas, polars, pyarrow or DuckDB; a lazy one after collect()"
        raise WrongValue(
            "bad-value", expected="a path or a data frame", given=f"of type {type(given).__name__}", hint=hint
        )
    return standing_for(given)


def rulebook_at(given: File) -> Path:
    """Take a rulebook; of a file of settings, the rules in it."""
    found = path(given)
    if found.suffix.lower() != ".toml" or isinstance(found, GivenRules):
        return found
    from masktron.settings_file import rules_of_settings

    return rules_of_settings(found)


def rulebook_or_none(given: File | None) -> Path:
    """Take a rulebook; where nobody gives one, the one that has no rules."""
    return NO_RULES if given is None else rulebook_at(given)


def table_places(given: Mapping[str, File]) -> dict[str, Path]:
    """Take tables by level."""
    require(isinstance(given, Mapping), "a mapping from levels", given, 'such as {"Person": "persons.csv"}')
    return {str(level): place(table) for level, table in given.items()}


def files(given: Mapping[str, File]) -> dict[str, Path]:
    """Take files by field."""
    return {name: path(one) for name, one in mapping(given).items()}


def mapping(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a mapping from fields."""
    require(isinstance(given, Mapping), "a mapping from fields", given, 'such as {"AGE": ...}')
    return given


def frames(*given: Path | None) -> bool:
    """Whether one of them stands for a data frame."""
    from masktron.sources.frame_path import FramePath

    return any(isinstance(one, FramePath) for one in given)


def renamed_columns(data: Path | None) -> tuple[str, ...]:
    """Say which columns of a data frame have other names in rules and settings."""
    if not frames(data):
        return ()
    from masktron.sources.tables.frames import frame_format, renamed

    frame: Any = data
    return tuple(renamed(frame_format(frame).read(frame, {})))


def require_files(manifest: Path | None, *sources: Path | None) -> None:
    """Refuse data frames beside a manifest.

    Raises
    ------
    UsageError
    """
    if manifest is not None and frames(*sources):
        raise UsageError.of(
            "setting-not-usable", name=SettingName("manifest"), reason="a manifest describes files, not data frames"
        )


def released_order(masked: Path, original: Path | None, *, same_order: bool) -> Stated:
    """Return what is said of the order of records; of two data frames by their indices, where these lead back.

    An index that simply counts from 0 may have been made anew, and says nothing.

    Raises
    ------
    UsageError
        The indices say another order.
    """
    from masktron.verify.pairing import Stated

    if not (frames(masked) and frames(original)):
        return Stated(same_order)
    import numpy as np
    import pandas as pd

    one, other = (getattr(path, "frame", None) for path in (masked, original))
    if not (isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame)):
        return Stated(same_order)
    labels = one.index
    if labels.equals(pd.RangeIndex(len(labels))) or not (labels.is_unique and other.index.is_unique):
        return Stated(same_order)
    rows = other.index.get_indexer(labels)
    if (rows < 0).any():
        return Stated(same_order)
    if same_order and (np.diff(rows) != 1).any():
        raise UsageError.of(
            "setting-not-usable",
            name=SettingName("same_order"),
            reason="the indices of the data frames lead to another order",
        )
    return Stated(index=rows)


_DATA = Declared(
    "Microdata in XML, CSV, Parquet, SPSS ...: see masktron formats; or postgresql://USER@HOST/DB?table=NAME.",
    metavar="DATA", read=typed_place, reads="the data", converter=source,
)  # fmt: skip
_OUT = Declared(panel=OUTPUT, short="-o", metavar="OUT.xml", read=typed_place, writes=True, converter=place)
_ORIGINAL = Declared(
    "Original file, which document() in the rules may name.",
    IN, metavar="FILE", read=typed_place, reads="the original", converter=source,
)  # fmt: skip
_RULES = Declared(
    "Rulebook: plain rules, Schematron, or a file of settings with [rules].",
    IN, short="-r", metavar="RULES.sch", page="writing-rules", reads="the rulebook", converter=rulebook_at,
)  # fmt: skip
_TABLES = Declared(
    panel=IN, metavar="LEVEL=FILE", example="Person=persons.csv", read=typed_path, stripped=True,
    page="nested-files", converter=table_places,
)  # fmt: skip
_PAGE = Declared(panel=OUTPUT, page="reports", writes=True, converter=path)
OF_SETTINGS = "[rules] of the settings, else no rules"
PAGE = "Write a page with pictures, for inside the agency."
PUBLIC_PAGE = "Write a page for whoever gets the masked file: what was done and what to know; no value of a record."

type Source = Annotated[Taken[Path, Microdata], Declared(converter=source, read=typed_place)]
type MaybeSource = Annotated[Taken[Path | None, Microdata | None], Declared(converter=source, read=typed_place)]
type Data = Annotated[Taken[Path, Microdata], _DATA]
type DataFile = Annotated[Taken[Path, File], replace(_DATA, converter=place)]
type Out = Annotated[Taken[Path, File], _OUT]
type MaybeOut = Annotated[Taken[Path | None, File | None], _OUT]
type MaybeOriginal = Annotated[Taken[Path | None, Microdata | None], _ORIGINAL]
type Rulebook = Annotated[Taken[Path, File], _RULES]
type MaybeRulebook = Annotated[Taken[Path | None, File | None], _RULES]
type RulebookOrNone = Annotated[Taken[Path, File | None], replace(_RULES, converter=rulebook_or_none)]
type Page = Annotated[Taken[Path | None, File | None], _PAGE]
type ReportFile = Annotated[Path | None, _PAGE]
type Tables = Annotated[Taken[Mapping[str, Path], Mapping[str, File]], _TABLES]


class Plain(Settings):
    """A command.

    Attributes
    ----------
    name : str
        As on the command line.
    shows_progress : bool
        Whether it takes so long that it says how far it is.
    hides : tuple of str
        Settings that it does not take, or takes in another way.
    """

    name: ClassVar[str]
    shows_progress: ClassVar[bool] = True
    hides: ClassVar[tuple[str, ...]] = ()

    json: ReportFile = setting(FORMATS["json"].help, default=None, init=False)

    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        """Refuse outputs in the places of inputs, and more than one in a place.

        Parameters
        ----------
        written : mapping of str to Path
            Outputs by the options that name them.
        inputs : mapping of str to Path
            By what messages call them.
        """
        running.check_outputs(written, inputs)

    def run(self, progress: Progress = no_progress) -> Any:
        """Do what the command does; return its result."""
        raise NotImplementedError

    def carry_out(self, progress: Progress) -> Any:
        """Run the command for the command line; return what `tell` shows."""
        return self.run(progress)

    def tell(self, result: Any) -> None:
        """Print the result, all of it or what fits a screen, and write it and its page."""
        if result is not None:
            html, verbose = getattr(self, "html", None), getattr(self, "verbose", True)
            running.report(result, self.json, html, verbose=verbose, found=getattr(self, "found", ""))

    def tell_refusal(self, error: Any) -> None:
        """Print the result that came before a refusal, where an error has one."""
        if getattr(error, "result", None) is not None:
            running.report(error.result, self.json, found=getattr(self, "found", ""))

    def code(self, result: Any) -> Exit:
        """Return the exit code of the command."""
        found: Exit = getattr(result, "exit_code", Exit.COMPLIES)
        return found


class Listing(Plain):
    """A command that lists things in tables, or explains one of them."""

    shows_progress = False

    which: str | None = setting("Explain this one.", default=None, kw_only=False, metavar="[NAME]", shown="all")

    @override
    def tell(self, result: Any) -> None:
        tables, content = result
        running.show(tables, self.json)
        running.write(content, self.json)


class Paged(Plain):
    """A command whose result has a page."""

    html: ReportFile = setting(PAGE, default=None, init=False)


class Verbose(Plain):
    """A command that shows what fits a screen, or all tables."""

    verbose: bool = setting(
        "Print all tables and notes; by default what fits a screen.", OUTPUT, default=False, init=False, short="-v"
    )


class Command(Config, Plain):
    """A command that takes settings.

    Attributes
    ----------
    takes_file : bool
        Whether it reads a file of settings.
    judging : bool
        Whether it judges somebody's work; see `masktron.settings_file.found_config`.
    takes_all : bool
        Whether it takes all settings in Python, beside those that its options name.
    takes_others : bool
        Whether it takes settings in Python that it has no use for, as they may be those of a run.
    """

    takes_file: ClassVar[bool] = True
    judging: ClassVar[bool] = False
    takes_all: ClassVar[bool] = False
    takes_others: ClassVar[bool] = False

    config: Config | None = field(default=None)
    given: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    """What options or keywords gave of settings."""
    file: tuple[Path | None, bool] = field(default=(None, False), init=False)
    """The file of settings, and whether the user named it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.given_rules is not None and isinstance(named := getattr(self, "rules", None), Path):
            self._set("rules", self.given_rules.beside(named))

    @property
    def settled(self) -> Config:
        """The settings alone."""
        return Config(**_values_of(self))

    @classmethod
    def with_settings(cls, settings: Config, /, *args: Any, **own: Any) -> Self:
        """Return the command with settings, and what it takes beside them."""
        return cls(*args, **own, **_values_of(settings))

    def came_from(self, given: Mapping[str, Any], file: tuple[Path | None, bool] = (None, False)) -> Self:
        """Say what the settings came from; return the command."""
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "file", file)
        return self

    def require_no_format(self, *sources: Path | None) -> None:
        """Refuse the format of a data frame.

        Raises
        ------
        UsageError
        """
        if self.format is not None and frames(*sources):
            raise UsageError.of("setting-not-usable", name=SettingName("format"), reason="a data frame has no format")


def _values_of(config: Config) -> dict[str, Any]:
    return {one.name: getattr(config, one.name) for one in fields(Config)}


class OnData(Command):
    """A command that reads a file of microdata."""

    data: Data = setting(kw_only=False)


class Replaces(Command):
    """A command that writes microdata."""

    replace: bool = setting(
        "Let the output replace a table of its name in a database; a file is always.", OUTPUT, default=False
    )


class Judges(Command):
    """A command that judges a file."""

    allow_empty: bool = setting(
        "Take a file without records as valid.", LIMITS, default=False, page="how-to/validating"
    )


class UnderRules(OnData):
    """A command that reads microdata and a rulebook."""

    rules: RulebookOrNone = setting(default=None, kw_only=False, shown=OF_SETTINGS)
