"""One pair with keys through masktron, and what came of it."""

from __future__ import annotations

import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import masktron
from masktron import MaskResult, MasktronError
from pairs.judge import smallest_group, table, violations
from pairs.keyed import KeyedPair, generate_keyed
from pairs.keyed_judge import asked_as_before, faults_of_keys, ids_of, sharing
from pairs.outcome import LIMIT, PairTimeoutError, counted, grouped, limited, masktron_settings
from xslt_oracle import evaluate

CHECKED = 5
"""Every so many pairs, `check` looks at what was written, too."""


@dataclass(frozen=True, slots=True)
class KeyedOutcome:
    """What came of a pair with keys.

    Attributes
    ----------
    code : int
        Exit code; -1 for a crash.
    labels : tuple of str
        Of its rules that read a key.
    treated : str
        ``recode``, ``key_k`` or both.
    ways : tuple of str
        How keys are recoded, in a word each.
    fates : tuple of str
        Of rules that read a recoded field.
    left : int
        Suppressed cells.
    faults : tuple of str
        What is wrong with the written file, or with the refusal.
    """

    seed: int
    labels: tuple[str, ...]
    treated: str
    ways: tuple[str, ...]
    seconds: float
    code: int = 0
    reason: str = ""
    message: str = ""
    fates: tuple[str, ...] = ()
    left: int = 0
    faults: tuple[str, ...] = ()


def run_keyed(seed: int, *, limit: float = LIMIT) -> KeyedOutcome:
    """Generate a pair, mask it with its keys treated, and judge what is written."""
    keyed = generate_keyed(seed)
    start = time.perf_counter()

    def outcome(
        code: int, reason: str = "", text: str = "", faults: Sequence[str] = (), result: MaskResult | None = None
    ) -> KeyedOutcome:
        settings = keyed.pair.settings
        return KeyedOutcome(
            seed,
            tuple(edit.label for edit in keyed.pair.edits if set(edit.variables) & _names(keyed)),
            " and ".join(name for name in ("recode", "key_k") if settings.get(name)),
            tuple("hierarchy" if "csv" in how else how.partition(":")[0] for how in settings["recode"].values()),
            time.perf_counter() - start,
            code,
            reason,
            text,
            () if result is None else tuple(one.fate for one in result.fates),
            0 if result is None else _left(result),
            tuple(faults),
        )

    with tempfile.TemporaryDirectory(prefix="pairs-") as name:
        folder = Path(name)
        data, rules, settings = keyed.write(folder)
        settings |= {**masktron_settings(keyed.pair), "recode": settings["recode"]}
        (folder / "temporary").mkdir()
        inputs = set(folder.iterdir())
        try:
            with limited(limit), patch.object(tempfile, "tempdir", str(folder / "temporary")):
                result = masktron.mask(data, rules, folder / "m.xml", **settings)
        except MasktronError as error:
            text = str(error).replace(str(folder), "")
            faults = [] if set(folder.iterdir()) == inputs else ["a file in spite of the error"]
            faults += _left_behind(folder)
            faults += [] if error.exit_code != 5 or error.facts else ["a refusal without facts"]
            faults += [] if error.exit_code == 5 else [f"exit code {error.exit_code}"]
            return outcome(int(error.exit_code), error.problem.code, text, faults)
        except (Exception, PairTimeoutError) as error:  # noqa: BLE001 - any other exception is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            return outcome(-1, reason, f"{reason}: {error}")
        faults = [*_faults(keyed, result, folder, data, rules), *_left_behind(folder)]
        return outcome(0, faults=faults, result=result)


def _names(keyed: KeyedPair) -> set[str]:
    return {variable.name for variable in keyed.pair.variables if variable.role == "quasi-identifier"}


def _left_behind(folder: Path) -> list[str]:
    names = [path.name for path in (folder / "temporary").iterdir()]
    return [f"temporary files are left: {', '.join(names)}"] if names else []


def _left(result: MaskResult) -> int:
    """Return how many cells the result says that it has suppressed."""
    told = [one.how for one in result.treatments if one.kind == "suppression"]
    return sum(int(how.split(": ")[1].split()[0].replace(",", "")) for how in told)


def _faults(keyed: KeyedPair, result: MaskResult, folder: Path, data: Path, rules: Path) -> list[str]:
    """Say what is wrong with a written file."""
    out, translated, found = folder / "m.xml", folder / "m.rules.sch", []
    asked = translated if translated.exists() else rules
    found += [f"{name} broken {count} times" for name, count in violations(asked, out, data).items()]
    fates = {one.rule: one.fate for one in result.fates}
    reasons = {one.rule: one.reason for one in result.fates}
    found += _faults_of_rules(keyed, fates, reasons, rules, asked, out, data)
    before, after = table(data), table(out)
    if len(before) != len(after):
        return [*found, f"{len(after)} of {len(before)} records"]
    found += faults_of_keys(keyed, before, after, _left(result))
    for block in result.blocks:
        if (least := smallest_group(after, grouped(block))) < keyed.pair.k:
            found.append(f"a group of {least} for k = {keyed.pair.k}")
    weights = [v.reference for v in keyed.pair.variables if v.role == "weight"]
    counted = min(sharing(after, [*keyed.keys, *weights], keyed.pair.settings["missing"]))
    told = next(one.value for one in result.figures if one.name == "key_k")
    found += [] if counted == told else [f"key_k is {counted}, and the result says {told}"]
    if keyed.pair.seed % CHECKED == 0:
        checked = masktron.check(out, rules, manifest=folder / "m.manifest.json", original=data)
        found += checked.problems
    return found


def _asked_in(reasons: dict[str, str], now: set[str]) -> set[str]:
    """Return the rules that are said to be asked in another one, which is asked and says so itself."""
    found = set()
    for name, reason in reasons.items():
        other = reason.removeprefix("asked in ")
        both = reasons.get(other, "").removeprefix("asked together with ").split(", ")
        if other != reason and other in now and name in both:
            found.add(name)
    return found


def _faults_of_rules(
    keyed: KeyedPair,
    fates: dict[str, str],
    reasons: dict[str, str],
    rules: Path,
    asked: Path,
    out: Path,
    data: Path,
) -> list[str]:
    """Compare the rules that are asked of a file with those of the original."""
    now = ids_of(asked) - {"nothing-left"}
    gone = {name for name, fate in fates.items() if fate in ("implied", "lost")} | (_asked_in(reasons, now) - now)
    found = []
    maybe = {name for name, fate in fates.items() if fate == "vacuous"}  # asked of what has no class, if of anything
    if not now | gone <= ids_of(rules) <= now | gone | maybe or now & gone:
        found.append("rules are neither asked nor said to be gone")
    if "lost" in fates.values() and "allow_lost" not in keyed.pair.settings:
        found.append("a rule is lost, and nobody let it go")
    if not keyed.pair.settings["recode"]:
        return found
    others = out.with_name("others.sch")
    if kept := asked_as_before(rules, list(keyed.pair.settings["recode"]), others):
        found += [f"{name} of the original broken" for name in evaluate(others, out, data).broken]
        found += [f"{name} reads nothing recoded, and is {fates[name]}" for name in kept & fates.keys()]
    return found


def keyed_summary(outcomes: Sequence[KeyedOutcome]) -> str:
    """Say in plain text what came of a set of pairs."""
    masked = [one for one in outcomes if one.code == 0]
    refused = [one for one in outcomes if one.code > 0]
    lines = [
        f"pairs       {len(outcomes)}: " + counted(one.treated for one in outcomes),
        f"masked      {len(masked)}, {sum(one.left for one in masked):,} cells suppressed in "
        f"{sum(one.left > 0 for one in masked)} files",
        f"refused     {len(refused)}: " + counted(f"{one.reason} (exit {one.code})" for one in refused),
        f"crashes     {sum(one.code < 0 for one in outcomes)}",
        f"faulty      {sum(bool(one.faults) for one in outcomes)}",
        "recodings   " + counted(way for one in outcomes for way in one.ways),
        "fates       " + counted(fate for one in masked for fate in one.fates),
        "rules       " + counted(label for one in outcomes for label in one.labels),
        "  refused   " + counted(label for one in refused for label in one.labels),
        f"seconds     {sum(one.seconds for one in outcomes):.1f}, at most {max(one.seconds for one in outcomes):.1f}",
    ]
    bad = [one for one in outcomes if one.code < 0 or one.faults]
    lines += [f"seed {one.seed} ({one.code}): {'; '.join((one.message, *one.faults))}" for one in bad]
    return "\n".join(lines) + "\n"
