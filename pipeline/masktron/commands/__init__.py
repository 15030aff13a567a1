"""What masktron does, on the command line and in Python: a module for each command, which declares what it takes.

Begin with `base`, then any command. `line` is the command line and `python` makes functions; `offered` tells both,
help and documentation what a command takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masktron.commands.base import Plain

PROGRAM = "masktron"
ASKED = "_MASKTRON_COMPLETE"
"""Variable of the environment by which a shell asks what may stand next."""
SUMMARY = "Mask survey microdata so that every Schematron edit rule still holds."


@dataclass(frozen=True, slots=True)
class Listed:
    """A command.

    Attributes
    ----------
    name : str
    summary : str
        What it does, in one sentence.
    example : str
    page : str
        The page of the documentation about it.
    in_python : bool
        Whether it is a function of `masktron`.
    """

    name: str
    summary: str
    example: str
    page: str

    in_python: bool = False

    @property
    def kind(self) -> type[Plain]:
        """The class of the command; its module is loaded."""
        found: type[Plain] = getattr(import_module(f"masktron.commands.{self.name}"), self.name.capitalize())
        return found


COMMANDS = {
    one.name: one
    for one in (
        Listed(
            "describe",
            "Say what a file holds: its fields, what mask would take them for and why, the first records, and "
            "problems.",
            "masktron describe survey.csv --rows 5",
            "formats",
            in_python=True,
        ),
        Listed(
            "suggest",
            "Propose rules that the data suggest, each with what speaks for it; write those that are accepted.",
            "masktron suggest survey.csv --accept 1-4,7 --out edits.sch",
            "suggesting",
            in_python=True,
        ),
        Listed(
            "rules",
            "List the rules of a file, or change one where it stands: comments and all else stay as they are.",
            "masktron rules edits.sch --change income-sum --test 'Wages + Other = number(Income)'",
            "writing-rules",
        ),
        Listed(
            "validate",
            "Evaluate every rule on every record: is this edited file fit for release?",
            "masktron validate survey.xml --rules edits.sch --svrl report.xml",
            "writing-rules",
            in_python=True,
        ),
        Listed(
            "explain",
            "Say of each rule its class and what it means in plain mathematics; with data, how it would be kept.",
            "masktron explain edits.sch --data survey.xml",
            "writing-rules",
            in_python=True,
        ),
        Listed(
            "mask",
            "Mask a file so that every edit still holds, and verify the written file.",
            "masktron mask survey.xml --rules edits.sch --out masked.xml -k 5 --role NAME=identifier",
            "methods",
            in_python=True,
        ),
        Listed(
            "rerun",
            "Do on another file what a run of mask has done, and show both side by side.",
            "masktron rerun january.manifest.json february.csv --out february-masked.csv",
            "repeating",
            in_python=True,
        ),
        Listed(
            "check",
            "Prove that a masked file complies: edits, group sizes, and with the original records, fields and "
            "domains.",
            "masktron check masked.xml -r edits.sch --original survey.xml --manifest masked.manifest.json",
            "how-to/checking",
            in_python=True,
        ),
        Listed(
            "assess",
            "Compare a masked file with its original: what risk is left, what the data are still good for, in plain "
            "words.",
            "masktron assess masked.xml --original survey.xml --manifest masked.manifest.json",
            "how-to/assessing",
            in_python=True,
        ),
        Listed(
            "tune",
            "Try ways to mask a file, show the risk and the loss of each, and recommend one within the limits.",
            "masktron tune survey.xml --rules edits.sch --out tuned --limit linkage=20 --write masktron.toml",
            "tuning",
            in_python=True,
        ),
        Listed(
            "hierarchy",
            "Make a hierarchy of the values of a field, for masktron recode: look through it, and edit it.",
            "masktron hierarchy survey.csv --field AGE --width 5 --out age.csv",
            "recoding",
        ),
        Listed(
            "recode",
            "Find the recodings of keys that lose least and reach k, and say what they make of rules and of risk.",
            "masktron recode survey.csv --rules edits.sch --hierarchy AGE=age.csv --key-k 3 --suppressed 1%",
            "recoding",
            in_python=True,
        ),
        Listed(
            "keys",
            "Say what keys tell, and try treatments: what they make of the risk and of the rules. Nothing is "
            "written.",
            "masktron keys survey.csv --rules edits.sch --recode AGE=width:5 --key-k 3",
            "keys",
        ),
        Listed(
            "report",
            "Make a page with pictures of a result: for inside the agency, or for whoever gets the masked file.",
            "masktron report released.manifest.json --html report.html --html-public about.html",
            "reports",
            in_python=True,
        ),
        Listed(
            "convert",
            "Write the records in another format, read them back, and say what that cannot hold. No value is ever "
            "lost.",
            "masktron convert survey.sav --out survey.csv",
            "formats",
            in_python=True,
        ),
        Listed(
            "formats",
            "List the formats of microdata, or explain one: ends of names, and what may be said of a file.",
            "masktron formats csv",
            "formats",
        ),
        Listed(
            "metadata",
            "Write what the fields of a file mean: names, labels, kinds and missing codes, and no value of a record.",
            "masktron metadata masked.csv --metadata survey.ddi.xml --to ddi --out masked.ddi.xml",
            "formats",
        ),
        Listed(
            "methods",
            "List the masking methods, or explain one: what it does, when to choose it, its parameters and promises.",
            "masktron methods mdav",
            "methods",
        ),
        Listed(
            "demo",
            "Validate, mask and check the samples that come with masktron, and say where the results lie.",
            "masktron demo --out masktron-demo",
            "command-line",
        ),
        Listed(
            "doctor",
            "Say what this installation has: versions, engines, formats that it can read and write, compiled code.",
            "masktron doctor --warm",
            "command-line",
        ),
        Listed(
            "combine",
            "Combine what was estimated from several synthetic releases: estimate, variance, interval.",
            "masktron combine estimates.csv",
            "command-line",
            in_python=True,
        ),
        Listed(
            "web", "Do all this in a browser on your own machine; again, to open it once more.", "masktron web", "web"
        ),
        Listed(
            "completion",
            "Print what a shell needs to complete commands and options of masktron.",
            "masktron completion bash",
            "command-line",
        ),
    )
}
"""All commands, in the order of the help."""
