"""What commands are made of: each is a class whose fields are what it takes, on the command line and in Python.

A command has a `run`, which returns a result. Beside it stands a `Line`: what the command line takes besides, and
what it shows. `masktron.commands.line` runs commands for it, `masktron.commands.python` as functions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
from attrs import field
from attrs.converters import optional

from masktron.addresses import AddressPath, hidden, is_address, path_of, typed_path
from masktron.commands import running
from masktron.config import Config
from masktron.declared import IN, LIMITS, OUTPUT, Shape, WrongValue, checked, declared
from masktron.errors import Exit, UsageError
from masktron.level_settings import tables_given
from masktron.progress import Progress
from masktron.report.formats import FORMATS
from masktron.setting_values import switch, text

if TYPE_CHECKING:
    import pandas as pd

    from masktron.jobs.pairing import Stated
    from masktron.setting_values import File
    from masktron.sources.tables.frames import ArrowFrame

    type Microdata = File | pd.DataFrame | ArrowFrame
    """A microdata file, the address of a table, ``postgresql://USER@HOST/DB?table=SCHEMA.NAME``, or a frame with one
    row per record: of pandas, polars, pyarrow, DuckDB, or another library that has the Arrow C stream."""


def typed_place(text: str) -> Path:
    """Read the name of a file, or the address of a table in a database."""
    try:
        return typed_path(text)
    except UsageError as error:
        raise ValueError(f"{error.what}; {error.hint}" if error.hint else error.what) from None


def path(given: File) -> Path:
    """Take the name of a file."""
    if not isinstance(given, str | PathLike):
        raise WrongValue(f" must be a path, not of type {type(given).__name__}", "give the name of a file")
    name = os.fspath(given)
    if isinstance(given, str) and is_address(given):
        raise WrongValue(f" must be a file, not the address {hidden(given)}", "give the name of a file")
    return given if isinstance(given, Path) else Path(name if isinstance(name, str) else os.fsdecode(name))


def place(given: File) -> Path:
    """Take the path of microdata, which may be the address of a table in a database."""
    if isinstance(given, AddressPath):
        return given
    if isinstance(given, str):
        return path_of(given)
    found = path(given)
    if is_address(str(found)):
        raise WrongValue(" is an address, and no path", "give it as a text: a path has no double slashes")
    return found


def source(given: Microdata) -> Path:
    """Take a path, or what stands for a data frame where jobs pass paths."""
    if isinstance(given, str | PathLike):
        return place(given)
    from masktron.results import MaskResult
    from masktron.sources.tables.frames import is_data_frame, standing_for

    if isinstance(given, MaskResult):
        raise WrongValue(
            " must be a path or a data frame, not the result of a run",
            "give the data of the result: result.data of a data frame that was masked, else result.output",
        )
    if not is_data_frame(given):
        raise WrongValue(
            f" must be a path or a data frame, not of type {type(given).__name__}",
            "give the name of a file, or a data frame of pandas, polars, pyarrow or DuckDB with one row per record; "
            "one of polars that is lazy after collect()",
        )
    return standing_for(given)


def table_places(given: Mapping[str, File]) -> dict[str, Path]:
    """Take tables by level."""
    if not isinstance(given, Mapping):
        raise WrongValue(f" must be a mapping from levels, not {given!r}", '{"Person": "persons.csv"}')
    return {str(level): place(table) for level, table in given.items()}


def files(given: Mapping[str, File]) -> dict[str, Path]:
    """Take files by field."""
    return {name: path(one) for name, one in mapping(given).items()}


def mapping(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a mapping from fields."""
    if not isinstance(given, Mapping):
        raise WrongValue(f" must be a mapping from fields, not {given!r}", 'such as {"AGE": ...}')
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
        raise UsageError(
            "a manifest describes files, and a data frame is none", hint="give the paths of the files, or no manifest"
        )


def released_order(masked: Path, original: Path | None, *, same_order: bool) -> Stated:
    """Return what is said of the order of records; of two data frames by their indices, where these lead back.

    An index that simply counts from 0 may have been made anew, and says nothing.

    Raises
    ------
    UsageError
        The indices say another order.
    """
    from masktron.jobs.pairing import Stated

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
        raise UsageError(
            "the indices of the data frames have another order than same_order says",
            hint="leave same_order out: the index leads each masked row to its original",
        )
    return Stated(index=rows)


def page_option() -> Any:
    """Declare the option that names a page for inside the agency."""
    help = "Write a page with pictures, for inside the agency."  # noqa: A001 -- what it is called there
    return declared(help, OUTPUT, metavar="FILE", page="reports", writes=True)


def public_page_option() -> Any:
    """Declare the option that names a page for whoever gets the masked file."""
    return declared(
        "Write a page for whoever gets the masked file: what was done and what to know; no value of a record.",
        OUTPUT,
        metavar="FILE",
        page="reports",
        writes=True,
    )


def report_option(name: str) -> Any:
    """Declare the option that names the file of a report, with the sentence that its format has."""
    return declared(FORMATS[name].help, OUTPUT, metavar="FILE", page="reports", writes=True)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Line:
    """What the command line takes besides, and what it shows."""

    def refuse_outputs(
        self,
        written: Mapping[str, Path | None],
        inputs: Mapping[str, Path | None],
        own: Mapping[str, Any],
        config: Config | None = None,
    ) -> None:
        """Refuse outputs in the places of inputs, and more than one in a place.

        Parameters
        ----------
        written : mapping of str to Path
            Outputs by the options that name them.
        inputs : mapping of str to Path
            By what messages call them.
        own : mapping
            What the command takes beside settings.
        config : Config, optional
            The settings, as soon as they are known.
        """
        del own, config
        running.check_outputs(written, inputs)

    def carry_out(self, command: Any, progress: Progress) -> Any:
        """Run the command."""
        return command.run(progress)

    def tell(self, command: Any, result: Any) -> None:
        """Show the result."""

    def tell_refusal(self, command: Any, error: Any) -> None:
        """Show the result that an error has."""

    def code(self, result: Any) -> Exit:
        """Return the exit code of the command."""
        found: Exit = getattr(result, "exit_code", Exit.COMPLIES)
        return found


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class JsonLine(Line):
    """The same, with the result as JSON."""

    json: Path | None = field(default=None, metadata=report_option("json"))

    def tell(self, command: Any, result: Any) -> None:
        """Print the result, and write it."""
        running.report(result, self.json, found=getattr(command, "found", ""))

    def tell_refusal(self, command: Any, error: Any) -> None:
        """Print the result that came before a refusal, where an error has one."""
        if getattr(error, "result", None) is not None:
            running.report(error.result, self.json, found=getattr(command, "found", ""))


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class TablesLine(JsonLine):
    """The same for a result that is tables, and what JSON has of them."""

    def tell(self, command: Any, result: Any) -> None:
        """Print the tables, and write the rest."""
        tables, content = result
        running.show(tables, self.json)
        running.write(content, self.json)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class PageLine(JsonLine):
    """The same, with a page of the result."""

    html: Path | None = field(default=None, metadata=page_option())

    def tell(self, command: Any, result: Any) -> None:
        """Print the result, and write it and its page."""
        running.report(result, self.json, self.html, found=command.found)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class VerboseLine(JsonLine):
    """The same, with all tables."""

    verbose: bool = field(
        default=False,
        metadata=declared(
            "Print all tables and notes; by default what fits a screen.", OUTPUT, short="-v", form=Shape.SWITCH
        ),
    )

    def tell(self, command: Any, result: Any) -> None:
        """Print the result, all of it or what fits a screen."""
        running.report(result, self.json, getattr(self, "html", None), verbose=self.verbose, found=command.found)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class VerbosePageLine(VerboseLine, PageLine):
    """The same, with a page and all tables."""


class Plain:
    """A command.

    Attributes
    ----------
    name : str
        As on the command line.
    line : type of Line
    shows_progress : bool
        Whether it takes so long that it says how far it is.
    """

    name: ClassVar[str]
    line: ClassVar[type[Line]] = JsonLine
    shows_progress: ClassVar[bool] = True


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
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
    hides : tuple of str
        Settings that it takes in another way.
    """

    takes_file: ClassVar[bool] = True
    judging: ClassVar[bool] = False
    takes_all: ClassVar[bool] = False
    takes_others: ClassVar[bool] = False
    hides: ClassVar[tuple[str, ...]] = ()

    config: Config | None = field(default=None)
    given: Mapping[str, Any] = field(factory=dict, init=False)
    """What options or keywords gave of settings."""
    file: tuple[Path | None, bool] = field(default=(None, False), init=False)
    """The file of settings, and whether the user named it."""

    @property
    def settled(self) -> Config:
        """The settings alone."""
        return Config(**{one.name: getattr(self, one.name) for one in attrs.fields(Config)})

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
            raise UsageError(f"a data frame has no format {self.format!r}", hint="leave it out")


def data_argument() -> Any:
    """Declare the argument that names a file of microdata."""
    return declared(
        "Microdata in XML, CSV, Parquet, SPSS ...: see masktron formats; or postgresql://USER@HOST/DB?table=NAME.",
        metavar="DATA",
        read=typed_place,
        reads="the data",
    )


def out_option(help: str, metavar: str = "OUT.xml", **said: Any) -> Any:  # noqa: A002 -- what it is called there
    """Declare the option that names a file of microdata to write."""
    return declared(help, OUTPUT, short="-o", metavar=metavar, read=typed_place, writes=True, **said)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class OnData(Command):
    """A command that reads a file of microdata."""

    data: Path = field(converter=source, metadata=data_argument())


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Replaces(Command):
    """A command that writes microdata."""

    replace: bool = field(
        default=False,
        converter=switch,
        metadata=declared(
            "Let the output replace a table of its name in a database; a file is always.",
            OUTPUT,
            form=Shape.SWITCH,
        ),
    )


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Releases(Replaces):
    """A command that makes a release."""

    again: str | None = field(
        default=None,
        converter=optional(text),
        metadata=declared(
            "Release records that the register has; the reason goes into register and manifest.",
            LIMITS, metavar="REASON", page="repeating",
        ),
    )  # fmt: skip


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Judges(Command):
    """A command that judges a file."""

    allow_empty: bool = field(
        default=False,
        converter=switch,
        metadata=declared(
            "Take a file without records as valid.", LIMITS, form=Shape.SWITCH, page="how-to/validating"
        ),
    )


def rules_option(help: str = "Schematron rulebook.", **said: Any) -> Any:  # noqa: A002 -- what it is called there
    """Declare the option that names a rulebook."""
    return declared(help, IN, short="-r", metavar="RULES.sch", page="writing-rules", reads="the rulebook", **said)


def original_option() -> Any:
    """Declare the option that names the original."""
    return declared(
        "Original file, which document() in the rules may name.",
        IN, metavar="FILE", read=typed_place, reads="the original",
    )  # fmt: skip


def tables_option(help: str, option: str, reads: str) -> Any:  # noqa: A002 -- what it is called there
    """Declare an option that names tables by level."""
    return declared(
        help,
        IN,
        option,
        metavar="LEVEL=FILE",
        form=Shape.TABLE,
        collect=tables_given,
        page="nested-files",
        reads=reads,
    )


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class UnderRules(OnData):
    """A command that reads microdata and a rulebook."""

    rules: Path = field(converter=path, metadata=rules_option())
