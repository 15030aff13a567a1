"""What an installation has: versions, engines, formats, memory, compiled code; and compiling it ahead."""

from __future__ import annotations

import platform
from collections.abc import Container
from pathlib import Path
from types import MappingProxyType

from lxml import etree

import masktron
from masktron.engines.engine_process import EngineError
from masktron.engines.saxon import values
from masktron.errors import InstallationError, ResourceError
from masktron.extras import OPTIONAL_PACKAGES, shortcoming_of
from masktron.judge import describe_engine
from masktron.kernels.cores import usable_cores
from masktron.kernels.ready import kernels_folder, kernels_kept
from masktron.kernels.warm import FAMILIES, CompilingError, missing, warm
from masktron.memory import free_memory
from masktron.progress import Progress, told_as
from masktron.resources import REINSTALL
from masktron.results import DoctorResult, EngineProbe, FeatureProbe, FormatProbe, PackageProbe
from masktron.sources.known_formats import Format, installed_apart
from masktron.versions import PACKAGES, version_of

_PROBE = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>'
    '<xsl:template match="/"><xsl:value-of select="sum(//V) = 3"/></xsl:template></xsl:stylesheet>'
)
_RECORDS = "<Data><V>1</V><V>2</V></Data>"

FEATURES = MappingProxyType({"pages with pictures": "report", "masktron web": "web", "workers of Dask": "dask"})
"""What extras bring that is no format, with the extra."""


def run_doctor(*, warm_up: bool = False, progress: Progress) -> DoctorResult:
    """Look at an installation.

    Parameters
    ----------
    warm_up : bool
        Compile first what is not compiled yet, which takes a minute or two, so that no run has to.
    progress : callable

    Raises
    ------
    InstallationError
        Something does not compile.
    """
    if warm_up and (families := missing()):
        try:
            warm(families, told_as(progress, "compiling the loops over records, once", "parts"))
        except CompilingError as error:
            raise InstallationError.of("does-not-work", reason=f"a loop: {error}", hint=REINSTALL) from None
    progress("asking engines", 0)
    engines = (EngineProbe(describe_engine("libxml2"), _libxml2_works()), _saxon())
    progress("loading packages", 0)
    unusable = {one.package: one for one in map(shortcoming_of, OPTIONAL_PACKAGES) if one is not None}
    folder = kernels_folder()
    return DoctorResult(
        version=masktron.__version__,
        folder=str(Path(masktron.__file__).parent),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=usable_cores(),
        memory=free_memory(),
        packages={name: version_of(name) for name in PACKAGES},
        engines=engines,
        compiled={family.name: family.is_ready() for family in FAMILIES},
        kept=kernels_kept(),
        compiled_folder=folder,
        compiled_bytes=_kept_bytes(folder),
        formats=tuple(_format(one, unusable) for one in installed_apart()),
        features=tuple(_feature(*one, unusable) for one in FEATURES.items()),
        unusable=tuple(PackageProbe(one.package, one.why, one.install) for one in unusable.values()),
    )


def _format(one: Format, unusable: Container[str]) -> FormatProbe:
    reads = not any(name in unusable for name in one.packages)
    writes = not one.instead and reads and not any(name in unusable for name in one.to_write)
    asked = (*one.packages, *one.to_write)
    return FormatProbe(
        one.name, one.what, one.suffixes, reads, writes, tuple(name for name in asked if name in unusable)
    )


def _feature(name: str, extra: str, unusable: Container[str]) -> FeatureProbe:
    asked = (one.name for one in OPTIONAL_PACKAGES.values() if one.extra == extra)
    lacks = tuple(package for package in asked if package in unusable)
    return FeatureProbe(name, works=not lacks, lacks=lacks)


def _kept_bytes(folder: str | None) -> int:
    """Return how much compiled code a folder has, in the files of numba: an index for each function, and its code."""
    return 0 if folder is None else sum(path.stat().st_size for path in Path(folder).glob("*.nb[ic]"))


def _libxml2_works() -> bool:
    return str(etree.XSLT(etree.XML(_PROBE))(etree.XML(_RECORDS))) == "true"


def _saxon() -> EngineProbe:
    """Ask Saxon; what keeps it from working is told beside the rest, not instead of it."""
    try:
        name = describe_engine("saxon")
    except (EngineError, ResourceError) as error:
        return EngineProbe("SaxonC", works=False, why=_in_a_line(error))
    try:
        answer = values(_RECORDS, {}, "sum(//V) = 3")
    except (EngineError, ResourceError) as error:
        return EngineProbe(name, works=False, why=_in_a_line(error))
    return EngineProbe(name, works=answer == ["true"])


def _in_a_line(error: Exception) -> str:
    match error:
        case ResourceError():
            return f"{error.what} -> {error.hint}" if error.hint else error.what
        case _:
            return " ".join(str(error).split())
