"""What the jobs return: frozen data, a module for each job, and for the parts that several of them have.

Begin with `masktron.results.result`, which all of them share, and with the module of a job. A result holds no table
and no file: `masktron.report` draws it, `masktron.serialised` makes plain data of it by the keys that it declares.
Of masktron they import errors, thresholds and `serialised`; of the stages before them the names of types alone.
"""

from masktron.results.assess import AssessResult
from masktron.results.check import CheckResult
from masktron.results.combine import CombineResult
from masktron.results.convert import ConvertResult
from masktron.results.demo import DemoResult, SampleResult
from masktron.results.describe import DescribedProblem, DescribedRow, DescribeResult, FieldDescription, ValueCount
from masktron.results.doctor import DoctorResult, EngineProbe, FeatureProbe, FormatProbe, PackageProbe
from masktron.results.edited_rules import RulesResult, WrittenRule
from masktron.results.explain import ExplainResult, FieldExplanation, RuleExplanation, StepExplanation
from masktron.results.figure import (
    CategoryResult,
    FigureResult,
    KeyRisk,
    LevelDescription,
    MaskedLevel,
    TotalResult,
    levels_of,
)
from masktron.results.hierarchy import HierarchyResult
from masktron.results.key_treatments import KeysResult, KeyValues
from masktron.results.mask import (
    BlockResult,
    CandidateResult,
    CorrelationResult,
    CutResult,
    DrawResult,
    EngineResult,
    MaskResult,
    MomentResult,
    RepairResult,
    SolvedResult,
    UnmovedResult,
)
from masktron.results.metadata import MetadataResult
from masktron.results.recode import KeyFigures, RecodedRule, RecodeResult, RecodingChoice
from masktron.results.refusal import RefusalResult, RemedyResult
from masktron.results.report import PageResult, ReportResult
from masktron.results.rerun import BlockChange, ChangeResult, FailureChange, FigureChange, RerunResult
from masktron.results.result import CONFIDENTIAL, SCHEMA_VERSION, JobResult, shown
from masktron.results.rules import RuleFate, RuleResult, Tested, TreatmentResult, Untested
from masktron.results.suggest import Proposal, SuggestResult
from masktron.results.tune import SpreadResult, TuneCandidate, TuneResult
from masktron.results.validate import (
    Diagnostic,
    FieldMeaning,
    RecordFinding,
    UnreadDocument,
    ValidateResult,
    by_field,
    diagnostics_of,
    more_of,
    severity,
)
from masktron.results.verdict import ConcernResult, MissingRule, ReleaseVerdict, ShownValues, Statement

__all__ = [
    "CONFIDENTIAL",
    "SCHEMA_VERSION",
    "AssessResult",
    "BlockChange",
    "BlockResult",
    "CandidateResult",
    "CategoryResult",
    "ChangeResult",
    "CheckResult",
    "CombineResult",
    "ConcernResult",
    "ConvertResult",
    "CorrelationResult",
    "CutResult",
    "DemoResult",
    "DescribeResult",
    "DescribedProblem",
    "DescribedRow",
    "Diagnostic",
    "DoctorResult",
    "DrawResult",
    "EngineProbe",
    "EngineResult",
    "ExplainResult",
    "FailureChange",
    "FeatureProbe",
    "FieldDescription",
    "FieldExplanation",
    "FieldMeaning",
    "FigureChange",
    "FigureResult",
    "FormatProbe",
    "HierarchyResult",
    "JobResult",
    "KeyFigures",
    "KeyRisk",
    "KeyValues",
    "KeysResult",
    "LevelDescription",
    "MaskResult",
    "MaskedLevel",
    "MetadataResult",
    "MissingRule",
    "MomentResult",
    "PackageProbe",
    "PageResult",
    "Proposal",
    "RecodeResult",
    "RecodedRule",
    "RecodingChoice",
    "RecordFinding",
    "RefusalResult",
    "ReleaseVerdict",
    "RemedyResult",
    "RepairResult",
    "ReportResult",
    "RerunResult",
    "RuleExplanation",
    "RuleFate",
    "RuleResult",
    "RulesResult",
    "SampleResult",
    "ShownValues",
    "SolvedResult",
    "SpreadResult",
    "Statement",
    "StepExplanation",
    "SuggestResult",
    "Tested",
    "TotalResult",
    "TreatmentResult",
    "TuneCandidate",
    "TuneResult",
    "UnmovedResult",
    "UnreadDocument",
    "Untested",
    "ValidateResult",
    "ValueCount",
    "WrittenRule",
    "by_field",
    "diagnostics_of",
    "levels_of",
    "more_of",
    "severity",
    "shown",
]
