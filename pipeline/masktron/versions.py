"""Which packages compute or read, in which versions, and what another version of each may change in a masked file."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

EFFECTS = MappingProxyType(
    {
        "masktron": "anything that masktron decides",
        "python": "nothing that is known of",
        "lxml": "what libxml2 says of rules",
        "saxonche": "what Saxon says of rules",
        "elementpath": "how expressions of rules are read",
        "pyschematron": "how rulebooks are read",
        "lark": "how rules in plain text are read",
        "pyyaml": "how files of R's package validate are read",
        "numpy": "the last digits of sums, and so groups and means where records are equally near, and draws",
        "numba": "the last digits of sums, and so groups and means where records are equally near",
        "threadpoolctl": "mixtures that fit nearly equally well, as it keeps matrices to one core",
        "randomgen": "draws, and the order of the records",
        "scipy": "searches for values that rules accept",
        "pyarrow": "how tables are read and written",
        "pandas": "how data frames come back",
        "scikit-learn": "nothing that is known of",
        "zstandard": "how CSV in .zst is read and written",
        "pyreadstat": "how files of SPSS, Stata and SAS are read and written",
        "fastexcel": "how workbooks are read",
        "xlsxwriter": "the bytes of Excel workbooks",
        "duckdb": "how tables of DuckDB are read and written",
        "adbc-driver-postgresql": "how tables of PostgreSQL are read and written",
    }
)
"""What may be otherwise with another version of masktron, Python, or a package that computes, judges or reads."""
OPTIONAL = frozenset(
    {
        "zstandard",
        "pyreadstat",
        "fastexcel",
        "xlsxwriter",
        "duckdb",
        "adbc-driver-postgresql",
    }
)
"""Of these: what an installation may lack."""
PACKAGES = tuple(name for name in EFFECTS if name not in ("masktron", "python", *OPTIONAL))
"""Of these: the packages that every installation has."""


def versions() -> dict[str, str]:
    """Return the versions of masktron, Python and the packages that compute, judge or read, as they are installed."""
    found = {"masktron": version_of("masktron"), "python": platform.python_version()}
    found |= {package: version_of(package) for package in (*PACKAGES, *sorted(OPTIONAL))}
    return {name: own for name, own in found.items() if own is not None}


@functools.cache
def version_of(package: str) -> str | None:
    """Return the version of a package, None where it is not installed."""
    try:
        return version(package)  # reads a file
    except PackageNotFoundError:
        return None
