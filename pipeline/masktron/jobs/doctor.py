"""What an installation has: versions, engines that work, compiled code; and compiling it ahead."""

from __future__ import annotations

import platform
from pathlib import Path

from lxml import etree

import masktron
from masktron.engines.saxon import SaxonError, values
from masktron.errors import InstallationError, ResourceError
from masktron.evaluation.programs import describe
from masktron.kernels.cores import usable_cores
from masktron.kernels.ready import kernels_folder, kernels_kept
from masktron.kernels.warm import FAMILIES, CompilingError, missing, warm
from masktron.progress import Progress, told_as
from masktron.results import DoctorResult, EngineProbe
from masktron.versions import PACKAGES, version_of

_PROBE = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>'
    '<xsl:template match="/"><xsl:value-of select="sum(//V) = 3"/></xsl:template></xsl:stylesheet>'
)
_RECORDS = "<Data><V>1</V><V>2</V></Data>"


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
            warm(families, told_as(progress, "compiling", "parts"))
        except CompilingError as error:
            raise InstallationError(f"code could not be compiled: {error}") from None
    progress("asking engines", 0)
    return DoctorResult(
        version=masktron.__version__,
        folder=str(Path(masktron.__file__).parent),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=usable_cores(),
        packages={name: version_of(name) for name in PACKAGES},
        engines=(EngineProbe(describe("libxml2"), _libxml2_works()), _saxon()),
        compiled={family.name: family.is_ready() for family in FAMILIES},
        kept=kernels_kept(),
        compiled_folder=kernels_folder(),
    )


def _libxml2_works() -> bool:
    return str(etree.XSLT(etree.XML(_PROBE))(etree.XML(_RECORDS))) == "true"


def _saxon() -> EngineProbe:
    """Ask Saxon; what keeps it from working is told beside the rest, not instead of it."""
    try:
        name = describe("saxon")
    except (SaxonError, ResourceError) as error:
        return EngineProbe("SaxonC", works=False, why=_in_a_line(error))
    try:
        answer = values(_RECORDS, {}, "sum(//V) = 3")
    except (SaxonError, ResourceError) as error:
        return EngineProbe(name, works=False, why=_in_a_line(error))
    return EngineProbe(name, works=answer == ["true"])


def _in_a_line(error: Exception) -> str:
    if isinstance(error, ResourceError):
        return f"{error.what} -> {error.hint}" if error.hint else error.what
    return " ".join(str(error).split())
