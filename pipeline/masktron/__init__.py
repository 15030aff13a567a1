"""Rule-driven masking of XML microdata that keeps every edit.

>>> import masktron
>>> result = masktron.mask("survey.xml", "edits.sch", "masked.xml", k=5)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masktron.commands.assess import Assess
    from masktron.commands.check import Check
    from masktron.commands.combine import Combine
    from masktron.commands.convert import Convert
    from masktron.commands.describe import Describe
    from masktron.commands.explain import Explain
    from masktron.commands.mask import Mask
    from masktron.commands.python import function
    from masktron.commands.recode import Recode
    from masktron.commands.report import Report
    from masktron.commands.rerun import Rerun
    from masktron.commands.suggest import Suggest
    from masktron.commands.tune import Tune
    from masktron.commands.validate import Validate
    from masktron.config import Config, Role
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
    from masktron.rules_given import rules
    from masktron.settings_file import load_config

    __version__: str
    assess = function(Assess)
    check = function(Check)
    combine = function(Combine)
    convert = function(Convert)
    describe = function(Describe)
    explain = function(Explain)
    mask = function(Mask)
    recode = function(Recode)
    rerun = function(Rerun)
    suggest = function(Suggest)
    tune = function(Tune)
    validate = function(Validate)
    write_report = function(Report)

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
    "rules",
    "suggest",
    "tune",
    "validate",
    "write_report",
]

_HOME = (
    {"load_config": "masktron.settings_file", "rules": "masktron.rules_given"}
    | dict.fromkeys(("Config", "Role"), "masktron.config")
    | dict.fromkeys((name for name in __all__ if name.endswith("Error")), "masktron.errors")
    | dict.fromkeys((name for name in __all__ if name.endswith("Result")), "masktron.results")
)
_FUNCTIONS = frozenset(name for name in __all__ if name.islower() and name not in ("__version__", *_HOME))


def __getattr__(name: str) -> Any:
    """Import on first use: the command line answers at once, and a function loads what it needs."""
    if name == "__version__":
        from importlib.metadata import version

        return version("masktron")
    if name in _FUNCTIONS:
        from masktron.commands import COMMANDS
        from masktron.commands.python import function

        kind: Any = COMMANDS["report" if name == "write_report" else name].kind
        found: Any = function(kind)
    elif name in _HOME:
        from importlib import import_module

        found = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    """Return the interface alone."""
    return sorted(__all__)
