"""Which records obey which rules: the judges, who decides, and who checks that.

Others import from here alone. `verdicts` decides on a file, `engine_opinions` asks engines that are not ours about
the same file, `RecordJudge` decides on records in memory, and `tiers_of` says how each rule is judged. Of a file,
all answer with one value, `Evaluation`: for each check the number of nodes on which it fired, failed and raised an
error; from engines also the first record that fails; and findings and the verdict on each record where these are
asked for.

=============  ===========================  ==================================================================
judge          module                       what it sees
=============  ===========================  ==================================================================
columns        `columns`, `nested`          blocks of columns of a flat file, or units of a nested one. It says
                                            *holds*, *fails* or *unsure*, and never guesses.
two passes     `across`                     the same blocks twice, for rules that look at other records: the
                                            first pass gathers what they read, the second judges.
libxml2        `exact`                      records as its own parser reads them, 5,000 at a time, or the whole
                                            document. Its numbers are corrected to those of XPath 1.0
                                            (`conversions`, `recommended`).
Saxon          `exact`                      the same, for XPath 2.0 and later, in a process of its own.
recount        `recount`                    values that libxml2 and Saxon read, for rules across records of
                                            large files.
=============  ===========================  ==================================================================

**Who decides.** A flat file of some size is read as blocks; from 500 records on also a smaller one, where two
passes judge a rule of it; and a nested file whose units are composed alike. Of these, columns decide each rule that
they can compile. What is unsure of a record goes to the engine, of flat files once for equal cells (`walk`). Rules
that columns cannot compile go to the engine record by record. Rules across records take two passes, or else the
engine sees the whole document. Of any other file, and of single documents, the engine decides all: libxml2 in XPath
1.0, with its numbers corrected; Saxon in later versions, for contexts that XSLT 1.0 cannot decide in linear time,
and for rulebooks with functions or keys of XSLT. `tiered` makes this choice.

**Who checks.** The engine makes every finding, on the records that fail; where it does not find there what columns
said, the run stops. Then engines that are not ours count every record of a written or checked file anew, from its
bytes (`second_opinions`): libxml2 as it is, without corrections, for rules of XPath 1.0, and Saxon for all. One
that has decided alone is not asked again, so that rules of XPath 2.0 and later are Saxon's alone in files that no
columns decide. Rules across records of large files they judge over aggregates that `recount` computes apart from
`across`. In `mask`, counts that differ stop the release. In `check` they are a problem, with two exceptions that
the result names: libxml2 alone in numbers of XPath 1.0 while Saxon agrees, and fewer failures of a rule that fails
anyway.

**Known errors of engines** are met in `by_libxml2`, `conversions` and `recommended` for libxml2, whose functions
`programs` has, and in `by_saxon` for Saxon; its internal errors in `runner`. `docs/engines.md` lists them.

**Beside verdicts** stand `domain_values` (values that a rule takes from a document), `Artefacts` (failures that are
roundings of doubles), and `compile_program`, by which masking asks columns about values that it makes.

Names are loaded when they are first used, since a process that serves one engine needs few of these modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masktron.judge.artefacts import Artefacts as Artefacts
    from masktron.judge.background import Background as Background
    from masktron.judge.columns.program import compile_program as compile_program
    from masktron.judge.domains import domain_values as domain_values
    from masktron.judge.exact import RecordJudge as RecordJudge
    from masktron.judge.findings import Assigned as Assigned
    from masktron.judge.findings import Departure as Departure
    from masktron.judge.findings import Evaluation as Evaluation
    from masktron.judge.findings import Finding as Finding
    from masktron.judge.findings import FindingKind as FindingKind
    from masktron.judge.findings import MemberValues as MemberValues
    from masktron.judge.findings import Shown as Shown
    from masktron.judge.findings import ShownLevel as ShownLevel
    from masktron.judge.findings import Tier as Tier
    from masktron.judge.findings import Verdict as Verdict
    from masktron.judge.programs import Original as Original
    from masktron.judge.programs import describe_engine as describe_engine
    from masktron.judge.recommended import reads_of as reads_of
    from masktron.judge.report_reader import expanded_name as expanded_name
    from masktron.judge.request import EvaluationRequest as EvaluationRequest
    from masktron.judge.request import Kept as Kept
    from masktron.judge.request import Sink as Sink
    from masktron.judge.rewriting import Reads as Reads
    from masktron.judge.runner import EngineChoice as EngineChoice
    from masktron.judge.runner import SlowRuleError as SlowRuleError
    from masktron.judge.runner import beyond as beyond
    from masktron.judge.runner import engine_name as engine_name
    from masktron.judge.runner import engines_of as engines_of
    from masktron.judge.second_opinions import SMALL_FILE as SMALL_FILE
    from masktron.judge.second_opinions import EnginePart as EnginePart
    from masktron.judge.second_opinions import PartProgress as PartProgress
    from masktron.judge.second_opinions import Question as Question
    from masktron.judge.second_opinions import engine_opinions as engine_opinions
    from masktron.judge.second_opinions import in_background as in_background
    from masktron.judge.shortcuts import Finder as Finder
    from masktron.judge.shortcuts import looks_through as looks_through
    from masktron.judge.stylesheet import DIALECTS as DIALECTS
    from masktron.judge.tiered import tiers_inside as tiers_inside
    from masktron.judge.tiered import tiers_of as tiers_of
    from masktron.judge.tiered import verdicts as verdicts
    from masktron.judge.walk import ENGINE_MEMORY as ENGINE_MEMORY
    from masktron.judge.walk import PRACTICAL_MEMORY as PRACTICAL_MEMORY
    from masktron.judge.walk import CompiledColumns as CompiledColumns

_MODULES = {
    "artefacts": "Artefacts",
    "background": "Background",
    "columns.program": "compile_program",
    "domains": "domain_values",
    "exact": "RecordJudge",
    "findings": "Assigned Departure Evaluation Finding FindingKind MemberValues Shown ShownLevel Tier Verdict",
    "programs": "Original describe_engine",
    "recommended": "reads_of",
    "report_reader": "expanded_name",
    "request": "EvaluationRequest Kept Sink",
    "rewriting": "Reads",
    "runner": "EngineChoice SlowRuleError beyond engine_name engines_of",
    "second_opinions": "SMALL_FILE EnginePart PartProgress Question engine_opinions in_background",
    "shortcuts": "Finder looks_through",
    "stylesheet": "DIALECTS",
    "tiered": "tiers_inside tiers_of verdicts",
    "walk": "ENGINE_MEMORY PRACTICAL_MEMORY CompiledColumns",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a name that others may import."""
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
