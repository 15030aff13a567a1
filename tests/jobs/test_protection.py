"""Contracts of methods that draw: what `check` tests of them, what chance explains, what is found when spoiled."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.stats import binom, norm

import masktron
from cli_runner import write_data, write_rules
from made_columns import column_of_cells
from masktron.classify.forms import form_of
from masktron.constraints import Atom
from masktron.contracts import (
    IdenticalGroups,
    MarkedReplaced,
    MethodContract,
    ModelDrawn,
    NoiseAdded,
    PartitionedSynthesis,
    ValuesExchanged,
)
from masktron.errors import UsageError
from masktron.methods.hierarchical import HierarchicalMethod
from masktron.problems.wording import sentence
from masktron.sources.column import Column
from masktron.verify.method_contract import (
    QUANTILE,
    Pair,
    check_pair,
    following,
    kept_records,
    most_own,
    noise_of,
    without_codes,
)
from masktron.write.declared import Declared, declared_from
from paths import SCHEMAS

N = 120
Floats = np.ndarray[Any, np.dtype[np.float64]]
Labels = np.ndarray[Any, np.dtype[np.intp]]


def column(values: Any, texts: Any = None) -> Column:
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return column_of_cells(texts if texts is not None else (None if math.isnan(v) else v for v in numbers))


def pair_of(before: Floats, after: Floats, groups: Labels | None = None, *, k: int = 5, **follows: Any) -> Pair:
    names = [f"V{at}" for at in range(before.shape[1])]
    n = len(before)
    return Pair(
        {name: column(values) for name, values in zip(names, before.T, strict=True)},
        {name: column(values) for name, values in zip(names, after.T, strict=True)},
        np.zeros(n, dtype=np.intp) if groups is None else groups,
        {name: np.asarray(follows.get(name, np.zeros(n, dtype=bool)), dtype=bool) for name in names},
        k,
    )


def says(contract: MethodContract, pair: Pair, **declared: Any) -> list[str]:
    return check_pair(Declared("made", contract, drawn=tuple(pair.original), **declared), pair).problems


# records that keep their values


def permutations(pair: Pair) -> list[int]:
    """Counts of kept records over all assignments of the released records of each group, by hand."""
    before = np.stack([one.values for one in pair.original.values()], axis=1)
    after = np.stack([one.values for one in pair.masked.values()], axis=1)
    rare = [int((before == row).all(axis=1).sum()) < pair.k for row in before]
    groups = [np.flatnonzero(pair.groups == g) for g in np.unique(pair.groups)]
    return [
        sum(
            rare[to] and (before[to] == after[of]).all()
            for members, order in zip(groups, orders, strict=True)
            for to, of in zip(members, order, strict=True)
        )
        for orders in itertools.product(*(itertools.permutations(members) for members in groups))
    ]


@pytest.mark.parametrize("seed", range(12))
def test_chance_is_that_of_all_permutations(seed: int) -> None:
    generator = np.random.default_rng(seed)
    before, after = generator.integers(0, 3, size=(2, 8, 1 + seed % 2)).astype(float)
    groups = np.array([0, 1, 0, 1, 2, 0, 1, 0])
    pair = pair_of(before, after, groups, k=2 + seed % 3)
    counts = permutations(pair)
    kept, mean, deviation = kept_records(pair)
    assert kept == counts[0]
    assert mean == pytest.approx(np.mean(counts))
    assert deviation == pytest.approx(np.std(counts), abs=1e-9)


def test_values_that_k_records_share_are_nobodys() -> None:
    before = np.array([[0.0]] * 5 + [[float(v)] for v in range(1, 6)])
    assert kept_records(pair_of(before, before, k=5))[0] == 5
    assert kept_records(pair_of(before, before, k=6))[0] == 10
    assert kept_records(pair_of(before, np.full_like(before, np.nan)))[0] == 0


def test_records_without_a_choice_do_not_count() -> None:
    before = np.arange(20.0).reshape(10, 2)
    half = np.arange(10) < 5
    assert kept_records(pair_of(before, before, V0=half))[0] == 10, "the other field could have been another"
    assert kept_records(pair_of(before, before, V0=half, V1=half))[0] == 5


def test_missing_values_and_texts_are_compared_as_what_they_are() -> None:
    before = column([1, np.nan, np.nan, 2, 0], ["1", None, "x", "2", "-0"])
    after = column([1, np.nan, np.nan, 2, 0], ["1.0", None, "x", "2 ", "0"])
    pair = Pair({"A": before}, {"A": after}, np.zeros(5, dtype=np.intp), {"A": np.zeros(5, dtype=bool)}, 3)
    assert kept_records(pair)[0] == 4, "a record without any value has nothing to keep"


def test_exchanged_values_are_those_of_the_original_but_for_what_settling_moved() -> None:
    generator = np.random.default_rng(2)
    before = generator.integers(0, 50, size=(N, 2)) + generator.normal(size=(N, 2)).round(1)
    after = generator.permuted(before, axis=0)
    assert says(ValuesExchanged(), pair_of(before, after)) == []
    moved = after.copy()
    moved[:10, 0] += 3.0
    (problem,) = says(ValuesExchanged(), pair_of(before, moved))
    assert sentence(problem) == (
        "the values of V0 are not those of the original in another order: sorted, they differ by more than settling "
        "moved them"
    )
    assert says(ValuesExchanged(), pair_of(before, moved), settled={"V0": 90.0}) == []
    declared = Declared("made", ValuesExchanged(), drawn=("V0", "V1"), settled={"V0": 1e9})
    (silent,) = check_pair(declared, pair_of(before, moved)).not_checked
    assert sentence(silent).startswith("values of V0: settling moved these fields by as much as they vary")
    less = after.copy()
    less[0, 1] = np.nan
    (problem,) = says(ValuesExchanged(), pair_of(before, less))
    assert sentence(problem) == (
        "V1, which made drew, has no value where the original has one in 1 record, first in released record 1, "
        "in the order of the original"
    )
    assert says(ModelDrawn(), pair_of(before, moved)) == []
    after[:3] = before[:3]
    after[3:] = np.roll(before[3:], 1, axis=0)
    (problem,) = says(ValuesExchanged(), pair_of(before, after))
    assert problem.startswith("3 records hold their own values")


@pytest.mark.parametrize("contract", [PartitionedSynthesis(5), ModelDrawn(), NoiseAdded(0.15)])
def test_restored_records_are_found(contract: MethodContract) -> None:
    generator = np.random.default_rng(1)
    before = generator.normal(size=(N, 2))
    after = before + generator.normal(size=(N, 2))
    assert says(contract, pair_of(before, after)) == []
    after[:3] = before[:3]
    (problem,) = says(contract, pair_of(before, after))
    assert problem.startswith("3 records hold their own values in all fields that made drew")
    assert says(contract, pair_of(before, after), unmoved=2)
    after[2] += 1
    assert says(contract, pair_of(before, after), unmoved=2) == [], "so few may be forced, and mask said so itself"
    after[:60] = before[:60]
    (problem, *_) = says(contract, pair_of(before, after), unmoved=60)
    assert "mask reported 60, and chance and rules explain" in problem
    after[:60, 0] += 1
    assert says(contract, pair_of(before, after)) == []


def test_a_restored_field_is_found_unless_it_follows() -> None:
    generator = np.random.default_rng(1)
    before = generator.normal(size=(N, 2))
    after = generator.normal(size=(N, 2))
    after[:, 1] = before[:, 1]
    (problem,) = says(ModelDrawn(), pair_of(before, after))
    assert sentence(problem) == "the field V1, which made drew, is published as it was, in every record"
    assert says(ModelDrawn(), pair_of(before, after, V1=np.ones(N))) == []
    before[:, 1] = after[:, 1] = 7
    assert says(ModelDrawn(), pair_of(before, after)) == [], "a constant tells nothing"


@pytest.mark.parametrize("seed", range(40))
def test_draws_from_small_ranges_are_no_accident(seed: int) -> None:
    assert false_alarms(seed) == 0


@pytest.mark.full
def test_no_false_alarm_in_two_thousand_files() -> None:
    assert sum(map(false_alarms, range(2000))) == 0


def false_alarms(seed: int) -> int:
    """Problems that are found in honest files: values drawn for groups of some size, from few values or many."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(20, 400))
    values = int(generator.integers(2, 400))
    size = int(generator.integers(3, 40))
    before = np.sort(generator.integers(0, values, size=(n, 1 + seed % 2)), axis=0).astype(float)
    groups = np.minimum(np.arange(n) // size, max(n // size - 1, 0)).astype(np.intp)
    after = before.copy()
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        for at in range(before.shape[1]):
            after[members, at] = generator.choice(before[members, at], size=len(members))
    pair = pair_of(before, after, groups, k=3)
    problems = says(PartitionedSynthesis(3), pair, unmoved=kept_records(pair)[0])
    return len([problem for problem in problems if "hold their own" in sentence(problem)])


# noise


def noisy(generator: np.random.Generator, share: float, n: int = N) -> tuple[Floats, Floats]:
    before = np.exp(generator.normal(size=(n, 1)))
    return before, before + generator.normal(size=(n, 1)) * np.sqrt(share) * before.std()


@pytest.mark.parametrize("seed", range(20))
def test_noise_of_the_share_that_was_promised_passes(seed: int) -> None:
    before, after = noisy(np.random.default_rng(seed), 0.15)
    assert says(NoiseAdded(0.15), pair_of(before, after)) == []


@pytest.mark.full
def test_noise_raises_no_false_alarm_in_ten_thousand_files() -> None:
    for seed in range(10_000):
        generator = np.random.default_rng(seed)
        before, after = noisy(generator, 0.15, int(generator.integers(5, 300)))
        assert says(NoiseAdded(0.15), pair_of(before, after)) == []


def test_less_noise_is_found() -> None:
    before, after = noisy(np.random.default_rng(0), 0.03)
    (problem,) = says(NoiseAdded(0.15), pair_of(before, after))
    assert sentence(problem).startswith("the noise in V0 has a variance of ")
    assert "promises 15 %" in sentence(problem)
    assert says(NoiseAdded(0.03), pair_of(before, after)) == []


def test_a_share_of_something_else_is_not_tested() -> None:
    before, after = noisy(np.random.default_rng(0), 0.03)
    declared = Declared("made", NoiseAdded(0.15, "what kept fields leave"), drawn=("V0",))
    found = check_pair(declared, pair_of(before, after))
    assert not found.problems
    assert found.not_checked == ["variance of the noise of made: it is a share of what kept fields leave"]


def test_noise_is_measured_within_the_parts_that_got_it() -> None:
    generator = np.random.default_rng(2)
    groups = np.repeat([0, 1], N // 2)
    before = generator.normal(size=(N, 1)) + 100.0 * groups[:, None]
    after = before + generator.normal(size=(N, 1)) * np.sqrt(0.15)
    assert says(NoiseAdded(0.15), pair_of(before, after, groups)) == []
    assert says(NoiseAdded(0.15), pair_of(before, after)), "of the whole file it is a trifle"


def test_what_settling_moved_is_taken_off() -> None:
    before, drawn = noisy(np.random.default_rng(3), 0.15)
    written = np.where(drawn < 0, before / 2, drawn)
    written[:60] = before[:60] + (written[:60] - before[:60]) / 20
    moved = {"V0": float(np.square(written - drawn).sum())}
    assert says(NoiseAdded(0.15), pair_of(before, written))
    assert says(NoiseAdded(0.15), pair_of(before, written), settled=moved) == []
    declared = Declared("made", NoiseAdded(0.15), drawn=("V0",), settled={"V0": 1e6})
    found = check_pair(declared, pair_of(before, drawn))
    assert not found.problems
    assert "noise in V0: settling moved" in sentence(found.not_checked[0])


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_for_any_settling(seed: int) -> None:
    """The triangle inequality: whatever settling does, its own sum of squares pays for it."""
    generator = np.random.default_rng(seed)
    before, drawn = noisy(generator, 0.15)
    written = drawn.copy()
    some = generator.random(N) < generator.random()
    written[some] = before[some] + generator.random() * (drawn[some] - before[some])
    pair = pair_of(before, written)
    seen, least = noise_of(
        pair.original["V0"],
        pair.masked["V0"],
        pair.follows["V0"],
        pair.groups,
        0.15,
        float(((written - drawn) ** 2).sum()),
    )
    assert seen >= least


def test_values_without_a_choice_need_no_noise() -> None:
    before, after = noisy(np.random.default_rng(5), 0.15)
    after[:90] = before[:90]
    assert any(
        "the noise in V0" in sentence(problem)
        for problem in says(NoiseAdded(0.15), pair_of(before, after), unmoved=90)
    )
    follows = pair_of(before, after, V0=np.arange(N) < 90)
    assert says(NoiseAdded(0.15), follows) == []


def test_constant_columns_have_no_noise_to_test() -> None:
    before, after = noisy(np.random.default_rng(4), 0.15)
    constant = np.full_like(before, 3.0)
    found = check_pair(
        Declared("made", NoiseAdded(0.15), drawn=("V0", "V1")),
        pair_of(np.hstack([before, constant]), np.hstack([after, constant])),
    )
    assert not found.problems
    assert any("noise in 1 field" in line for line in found.checked)


# marked values


def marked_case(seed: int, alike: int = 1) -> tuple[Pair, dict[str, tuple[int, ...]]]:
    """Values beyond a threshold, replaced by the Bayesian bootstrap from clusters of ten near ones."""
    generator = np.random.default_rng(seed)
    before = np.repeat(np.sort(generator.normal(size=(200 // alike, 1)), axis=0), alike, axis=0)
    after = before.copy()
    marked = np.flatnonzero(before[:, 0] > 0)
    for start in range(0, len(marked) - 9, 10):
        cluster = marked[start:] if start + 20 > len(marked) else marked[start : start + 10]
        after[cluster, 0] = generator.choice(
            before[cluster, 0], p=generator.dirichlet(np.ones(len(cluster))), size=len(cluster)
        )
    return pair_of(before, after), {"V0": tuple(marked.tolist())}


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("alike", [1, 5])
def test_marked_values_are_replaced_but_for_chance(seed: int, alike: int) -> None:
    pair, marked = marked_case(seed, alike)
    assert says(MarkedReplaced(10), pair, marked=marked) == []


def test_replaced_values_are_the_own_ones_by_chance_alone() -> None:
    alone = most_own(np.ones(100, dtype=int), 10)
    assert binom.sf(alone, 100, 0.1) < norm.sf(5) < binom.sf(alone - 8, 100, 0.1)
    assert most_own(np.full(8, 5), 10) < 40, "not all of them, though half of a cluster may be alike"
    assert most_own(np.array([10, 40]), 10) == 50, "a cluster may have one value alone"
    assert most_own(np.array([1, 1, 1]), 10) == 3, "nothing is proved by three"
    assert most_own(np.array([], dtype=int), 10) == 0


@pytest.mark.parametrize("alike", [1, 2, 5])
def test_marked_values_that_stay_are_found(alike: int) -> None:
    pair, marked = marked_case(0, alike)
    same = pair_of(pair.original["V0"].values[:, None], pair.original["V0"].values[:, None])
    problem, _ = says(MarkedReplaced(10), same, marked=marked)
    assert "values of V0 that made was to replace are the respondents' own" in sentence(problem)
    follows = pair_of(same.original["V0"].values[:, None], same.masked["V0"].values[:, None], V0=np.ones(200))
    assert says(MarkedReplaced(10), follows, marked=marked) == []
    (problem,) = says(MarkedReplaced(10), pair, marked={"V0": (0, 200)})
    assert "in a record that there is not" in sentence(problem)


# values that follow


def atoms(tmp_path: Path, *tests: str) -> list[Atom]:
    from masktron.jobs.job import open_job

    fields = dict.fromkeys(("A", "B", "C", "U", "S"), 1)
    job = open_job(write_data(tmp_path / "d.xml", [fields]), write_rules(tmp_path / "r.sch", *tests))
    return [atom for edit in job.edits for disjunct in form_of(edit.constraint) for atom in disjunct]


def test_what_follows_from_unmasked_fields(tmp_path: Path) -> None:
    columns = {
        "A": column([5, 5, 5, 5]),
        "B": column([7, 7, 7, 7]),
        "C": column([0, 1, 0, 1]),
        "U": column([5, 5, 4, 5]),
    }
    rules = atoms(tmp_path, "A = U + 0 or A > 100", "A + B = 12 or B < 0", "C = 0 or U > 4", "B > 3")
    found = following(["A", "B", "C"], ["U"], rules, columns)
    assert found["A"].tolist() == [True, True, False, True]
    assert found["B"].tolist() == [True, True, False, True], "from A, where that follows"
    assert found["C"].tolist() == [True, False, True, False]
    texts = column([np.nan, np.nan], ["x", "y"])
    assert following(["S"], [], atoms(tmp_path, "S = 'x' or A > 5"), {"S": texts})["S"].tolist() == [True, False]
    assert following(["S"], [], atoms(tmp_path, "S = 'x' or S = 'y'"), {"S": texts})["S"].tolist() == [False, False]
    nothing = following(["A", "B", "C"], [], rules, columns)
    assert not nothing["A"].any()
    assert not nothing["B"].any()


def test_codes_for_missing_values_are_no_values() -> None:
    coded = without_codes(column([-9, 3], [" -9", "3"]), frozenset({"-9"}))
    assert coded.present.tolist() == [False, True]
    assert np.isnan(coded.values).tolist() == [True, False]
    assert without_codes(coded, None) is coded


# the command, on files and manifests made by hand


METHODS = {
    "partitioned-synthesis": "hybrid_micro",
    "model-drawn": "ipso",
    "noise-added": "noise",
    "marked-replaced": "hierarchical",
}
"""A method for each contract."""


class Case:
    """A file whose A, B and T were drawn record by record, its manifest signed by hand."""

    def __init__(self, folder: Path, *, shuffle: bool = False) -> None:
        generator = np.random.default_rng(7)
        parts = generator.integers(0, 1000, size=(N, 2)).tolist()
        self.rows: list[dict[str, object]] = [
            {"Id": at, "A": a, "B": b, "T": a + b, "C": at % 3} for at, (a, b) in enumerate(parts)
        ]
        self.data = write_data(folder / "data.xml", self.rows)
        self.rules = write_rules(folder / "rules.sch", "A + B = T", "A >= 0")
        self.out, self.manifest = folder / "masked.xml", folder / "masked.manifest.json"
        result = masktron.mask(
            self.data,
            self.rules,
            self.out,
            k=4,
            roles={"Id": "record-id"},
            order="random" if shuffle else "keep",
            nominal=["C"],
        )
        assert result.min_group >= 4
        order = json.loads(self.manifest.read_text())["order"]
        self.order = list(range(N)) if order is None else order
        self.groups = (np.arange(N) // 4).tolist()
        noise = generator.integers(50, 100, size=(N, 2)).tolist()
        self.drawn = [
            {"A": (a + u) % 1000, "B": (b + v) % 1000, "T": (a + u) % 1000 + (b + v) % 1000}
            for (a, b), (u, v) in zip(parts, noise, strict=True)
        ]
        self.classes = [text.split("</C>")[0] for text in self.out.read_text().split("<C>")[1:]]

    def write(self, contract: dict[str, Any], **declared: Any) -> None:
        """Write the drawn records, in the order of the masked file, and sign them."""
        rows: list[dict[str, object]] = [
            {"Id": self.rows[of]["Id"], **self.drawn[of], "C": self.classes[at]} for at, of in enumerate(self.order)
        ]
        write_data(self.out, rows)
        content = json.loads(self.manifest.read_text())
        content["output"]["sha256"] = hashlib.sha256(self.out.read_bytes()).hexdigest()
        kind = contract["kind"]
        content["config"] |= {"method": METHODS[kind], "params": {}}
        if kind == "noise-added":
            content["config"]["params"] = {"c": contract["share"] / (1 - contract["share"])}
        content["declared"] = {
            "method": METHODS[kind],
            "contract": contract,
            "drawn": ["A", "B", "T"],
            "groups": None,
            "unmoved": 0,
            "settled": {},
            "marked": {},
        } | declared
        self.manifest.write_text(json.dumps(content))

    def check(self, *, original: bool = True) -> masktron.CheckResult:
        return masktron.check(self.out, self.rules, original=self.data if original else None, manifest=self.manifest)


SYNTHESIS = {"kind": "partitioned-synthesis", "k": 4}


@pytest.mark.few(1)
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_drawn_file_complies_with_its_contract(tmp_path: Path, shuffle: bool) -> None:
    case = Case(tmp_path, shuffle=shuffle)
    case.write(SYNTHESIS, groups=case.groups)
    result = case.check()
    assert result.complies, result
    assert "sizes of 30 groups that values were drawn for, against k = 4" in result.checked
    assert any("hold their own values in all drawn fields: 0" in line for line in result.checked)
    assert "group sizes of 1 block, against k = 4" in result.checked, "C is shared by groups"
    assert result.min_group == 40
    schema = json.loads((SCHEMAS / "manifest.schema.json").read_text())
    jsonschema.validate(json.loads(case.manifest.read_text()), schema)
    for at in (3, 50, 77):
        case.drawn[at] = {name: case.rows[at][name] for name in ("A", "B", "T")}  # type: ignore[misc]
    case.write(SYNTHESIS, groups=case.groups)
    result = case.check()
    assert not result.complies
    assert result.problems[0].startswith("3 records hold their own values"), result.problems
    without = case.check(original=False)
    assert without.complies
    assert "what hybrid_micro promises: needs the original" in without.not_checked


def test_groups_that_are_too_small_or_too_few_are_found(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.write(SYNTHESIS, groups=[99, *case.groups[1:]])
    assert "values were drawn for a group of 1 record, fewer than k = 4" in case.check(original=False).problems[0]
    case.write(SYNTHESIS, groups=[*case.groups[1:], 7, 7])
    assert "groups for 121 records, and the file 120" in case.check().problems[0]
    case.write({"kind": "model-drawn"})
    assert case.check().complies


def test_shared_fields_beside_drawn_ones_keep_their_groups(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.classes[5] = "7"
    case.write(SYNTHESIS, groups=case.groups)
    assert any("smallest group has 1 record" in problem for problem in case.check(original=False).problems)


def test_noise_and_marks_reach_the_command(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.write({"kind": "noise-added", "share": 0.01, "of": "the original"})
    assert case.check().complies, case.check()
    far = [dict(one) for one in case.drawn]
    for at, (row, drawn) in enumerate(zip(case.rows, case.drawn, strict=True)):
        drawn["A"] = int(str(row["A"])) + 1 + at % 2
        drawn["T"] = drawn["A"] + drawn["B"]
    case.write({"kind": "noise-added", "share": 0.01, "of": "the original"})
    assert any("the noise in A" in problem for problem in case.check().problems)
    case.drawn = far
    marked = {name: list(range(N)) for name in "ABT"}
    case.write({"kind": "marked-replaced", "cluster": 10}, marked=marked)
    assert case.check().complies
    for row, drawn in zip(case.rows, case.drawn, strict=True):
        drawn |= {name: row[name] for name in ("A", "B", "T")}  # type: ignore[misc]
    case.write({"kind": "marked-replaced", "cluster": 10}, marked=marked)
    assert any("that hierarchical was to replace" in problem for problem in case.check().problems)


FORGED: dict[str, tuple[dict[str, Any], Callable[[Case], object], str]] = {
    "a text": (SYNTHESIS, lambda case: case.drawn[7].update(A="x"), "A, which hybrid_micro drew, is no number in 1"),
    "a gap": (SYNTHESIS, lambda case: case.drawn[7].pop("A"), "has no value where the original has one in 1 record"),
    "a column put back but for one value": (
        SYNTHESIS,
        lambda case: [drawn.update(A=row["A"]) for row, drawn in zip(case.rows[1:], case.drawn[1:], strict=True)],
        "values of A, which hybrid_micro drew, are the respondents' own",
    ),
    "nothing is marked": (
        {"kind": "marked-replaced", "cluster": 10},
        lambda _: None,
        "hierarchical changed no value",
    ),
    "few values are marked": (
        {"kind": "marked-replaced", "cluster": 10, "marked": {"A": [1, 2], "B": [3]}},
        lambda _: None,
        "values of B beyond its threshold are not marked as replaced in the manifest",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_release_is_found(tmp_path: Path, name: str) -> None:
    contract, forge, problem = FORGED[name]
    case, marked = Case(tmp_path), contract.get("marked", {})
    forge(case)
    contract = {key: value for key, value in contract.items() if key != "marked"}
    case.write(contract, marked=marked, groups=case.groups if contract == SYNTHESIS else None)
    assert any(problem in found for found in case.check().problems), case.check().problems


def test_codes_that_no_setting_declares_are_refused(tmp_path: Path) -> None:
    """With them every value would count as missing, so that nothing is compared and no rule is decided."""
    case = Case(tmp_path)
    case.write(SYNTHESIS, groups=case.groups)
    content = json.loads(case.manifest.read_text())
    for one in content["plan"]["fields"]:
        if one["name"] == "A":
            one["codes"] = sorted({str(row["A"]) for row in case.rows})
    case.manifest.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"config\.missing lacks codes for missing values of A"):
        case.check()


def test_a_rule_is_let_go_where_settings_allow_it_and_nowhere_else(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.drawn[7] |= {"A": -5, "T": case.drawn[7]["B"] - 5}
    case.write(SYNTHESIS, groups=case.groups)
    content = json.loads(case.manifest.read_text())
    del content["config"]["allow"]
    content["result"]["allowed"] = ["R2"]
    case.manifest.write_text(json.dumps(content))
    assert case.check().violations


def test_settings_beside_a_manifest_declare_no_codes(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.drawn[7] |= {"A": -5, "T": -5 + case.drawn[7]["B"]}
    case.write(SYNTHESIS, groups=case.groups)
    config = masktron.Config(missing={"*": ["-5"]})
    result = masktron.check(case.out, case.rules, original=case.data, manifest=case.manifest, config=config)
    assert result.violations


def test_the_threshold_that_is_verified_is_that_of_the_method() -> None:
    assert HierarchicalMethod().quantile == QUANTILE
    assert HierarchicalMethod().side == "upper"


def test_a_contract_of_another_method_is_found(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.write({"kind": "model-drawn"})
    assert case.check().complies
    content = json.loads(case.manifest.read_text())
    content["config"]["method"] = "shuffling"
    case.manifest.write_text(json.dumps(content))
    assert any("but shuffling, the method of its settings, promises" in one for one in case.check().problems)


# the manifest


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("signed"))


def test_what_is_declared_comes_back() -> None:
    declared = Declared("ipso", PartitionedSynthesis(3), ("A",), (0, 0, 0), 2, {"A": 0.5}, {"A": (1,)})
    assert declared_from(json.loads(json.dumps(declared.as_dict())), ("A", "B")) == declared
    plain = Declared("mdav", IdenticalGroups(3))
    assert declared_from(plain.as_dict(), ("A",)) == plain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("contract"), "declared.contract is missing"),
        (lambda d: d.update(contract="ipso"), "declared.contract is not a table"),
        (lambda d: d.update(contract={"kind": "none"}), "no contract of the kind 'none'"),
        (
            lambda d: d.update(contract={"kind": "identical-groups", "k": 4}),
            "identical groups for fields that were drawn",
        ),
        (lambda d: d.update(contract={"kind": "identical-groups", "k": 9}, drawn=[]), "groups of 9 and has k = 4"),
        (lambda d: d.update(groups=None), "groups that values were drawn for are missing"),
        (lambda d: d.update(groups=[1, True]), "declared.groups[1] is not an integer"),
        (lambda d: d.update(groups=[-1]), "negative"),
        (lambda d: d.update(drawn=["Id"]), "not some of the masked ones"),
        (lambda d: d.update(drawn=["A", "A"]), "not some of the masked ones"),
        (lambda d: d.update(drawn="A"), "declared.drawn is not a list"),
        (lambda d: d.update(unmoved=None), "declared.unmoved is not an integer"),
        (lambda d: d.update(settled={"C": 1.0}), "a field that was not drawn"),
        (lambda d: d.update(settled={"A": -1}), "no sum of squares"),
        (lambda d: d.update(settled=[]), "declared.settled is not a table"),
        (lambda d: d.update(marked={"A": [1, 2, 1]}), "'marked' names a value of A twice"),
        (lambda d: d.update(marked={"A": [1.5]}), "declared.marked.A[0] is not an integer"),
        (lambda d: d.update(method=3), "declared.method is not a text"),
    ],
)
def test_a_malformed_declaration_is_refused(
    signed: Case, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    case = signed
    case.write(SYNTHESIS, groups=case.groups)
    content = json.loads(case.manifest.read_text())
    change(content["declared"])
    case.manifest.write_text(json.dumps(content))
    with pytest.raises(UsageError) as caught:
        case.check()
    assert message in str(caught.value)
