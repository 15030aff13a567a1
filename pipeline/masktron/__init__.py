"""Rule-driven masking of XML microdata that keeps every edit.

>>> import masktron
>>> result = masktron.mask("survey.xml", "edits.sch", "masked.xml", k=5)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masktron.api import (
        assess,
        check,
        combine,
        convert,
        describe,
        explain,
        mask,
        recode,
        rerun,
        suggest,
        tune,
        validate,
        write_report,
    )
    from masktron.config import Config, Role, load_config
    from masktron.errors import (
        DocumentError,
        InfeasibleError,
        MasktronError,
        ResourceError,
        RulebookError,
        UsageError,
        ViolationError,
    )
    from masktron.results import (
        AssessResult,
        CheckResult,
        CombineResult,
        ConvertResult,
        DescribeResult,
        ExplainResult,
        MaskResult,
        RecodeResult,
        ReportResult,
        RerunResult,
        SuggestResult,
        TuneResult,
        ValidateResult,
    )

    __version__: str

__all__ = [
    "AssessResult",
    "CheckResult",
    "CombineResult",
    "Config",
    "ConvertResult",
    "DescribeResult",
    "DocumentError",
    "ExplainResult",
    "InfeasibleError",
    "MaskResult",
    "MasktronError",
    "RecodeResult",
    "ReportResult",
    "RerunResult",
    "ResourceError",
    "Role",
    "RulebookError",
    "SuggestResult",
    "TuneResult",
    "UsageError",
    "ValidateResult",
    "ViolationError",
    "__version__",
    "assess",
    "check",
    "combine",
    "convert",
    "describe",
    "explain",
    "load_config",
    "mask",
    "recode",
    "rerun",
    "suggest",
    "tune",
    "validate",
    "write_report",
]

_HOME = (
    dict.fromkeys(
        (
            "assess",
            "check",
            "combine",
            "convert",
            "describe",
            "explain",
            "mask",
            "recode",
            "rerun",
            "suggest",
            "tune",
            "validate",
            "write_report",
        ),
        "masktron.api",
    )
    | dict.fromkeys(("Config", "Role", "load_config"), "masktron.config")
    | dict.fromkeys((name for name in __all__ if name.endswith("Error")), "masktron.errors")
    | dict.fromkeys((name for name in __all__ if name.endswith("Result")), "masktron.results")
)


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line can answer ``--help`` at once."""
    if name == "__version__":
        from importlib.metadata import version

        return version("masktron")
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the interface alone."""
    return sorted(__all__)
