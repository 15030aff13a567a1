"""What a run writes, file or table of a database: whole, or not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from masktron.addresses import AddressPath
from masktron.errors import UsageError
from masktron.write.atomic import atomic_path, atomic_paths, table_published


@contextmanager
def publication(target: Path, *, released: bool = False, replaces: bool = False) -> Iterator[Path]:
    """Give a place to write to, which takes the place of `target` when the context ends; by an error, nothing does.

    Parameters
    ----------
    target : Path
    released : bool
        As for `atomic_path`; who may read a table, its database says.
    replaces : bool
        A table of this name may be replaced. A file of this name is in any case.

    Raises
    ------
    DocumentError, UsageError
        It cannot be written, or there is such a table.
    """
    if isinstance(target, AddressPath):
        from masktron.sources.tables.new_tables import new_table  # noqa: PLC0415 -- loads pyarrow

        with new_table(target, replaces=replaces) as place:
            yield place
        table_published(str(target))
    else:
        with atomic_path(target, released=released) as temporary:
            yield temporary


@contextmanager
def publications(
    targets: Mapping[str, Path], *, released: bool = False, replaces: bool = False
) -> Iterator[dict[str, Path]]:
    """Give places to write to for the tables of one release, which appear together or not at all.

    Parameters
    ----------
    targets : mapping of str to Path
        By the name of their level: files all of them, or one table of a database.
    released, replaces
        As for `publication`.

    Raises
    ------
    DocumentError, UsageError
        One of them cannot be written, or they cannot appear together.
    """
    if len(targets) == 1:
        ((name, target),) = targets.items()
        with publication(target, released=released, replaces=replaces) as place:
            yield {name: place}
        return
    require_together(targets)
    with atomic_paths(list(targets.values()), released=released) as places:
        yield dict(zip(targets, places, strict=True))


def require_together(targets: Mapping[str, Path]) -> None:
    """Refuse tables of one release that cannot appear together or not at all.

    Raises
    ------
    UsageError
    """
    for name, target in targets.items():
        if len(targets) > 1 and isinstance(target, AddressPath):
            raise UsageError.of("tables-in-database", target, level=name)


def settle_publication(place: Path) -> None:
    """Do all that may fail before a table is there; what is written after that, such as a manifest, belongs to it.

    Parameters
    ----------
    place : Path
        What `publication` gave. A file needs nothing.

    Raises
    ------
    DocumentError, UsageError
    """
    if isinstance(place, AddressPath):
        from masktron.sources.tables.new_tables import make_ready  # noqa: PLC0415 -- loads pyarrow

        make_ready(place)


def require_new(target: Path, inputs: Collection[Path], *, replaces: bool) -> None:
    """Refuse, before anything is computed, a table that a database does not take; `refuse_outputs` refuses files.

    Raises
    ------
    DocumentError, UsageError
    """
    if isinstance(target, AddressPath):
        from masktron.sources.tables.new_tables import require_new_table  # noqa: PLC0415 -- loads pyarrow

        require_new_table(target, inputs, replaces=replaces)
