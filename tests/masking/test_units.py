"""Files that are masked unit by unit obey what a file does that is masked as a whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_runner import write_data, write_rules
from masktron.config import Config, Role
from masktron.errors import InfeasibleError
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.run_parts import RunPart, RunParts
from masktron.executor.which import Serial
from masktron.grouping.members import codes_of
from masktron.jobs.opening import open_original
from masktron.jobs.run import Run
from masktron.masking import Masked, mask_records
from masktron.masking.groups.strata import parted
from masktron.masking.inputs import MaskingInputs
from masktron.masking.totals.file_conditions import FileConditions
from masktron.masking.units.unit_parts import LEAST, UnitSlices, cut_into_units
from masktron.progress import no_progress
from refusals import refused

RULES = ("A + B = T", "A >= 0", "A <= CAP", "Z = 'x' or B >= 0", "R = 'l' or R = 'm' or R = 'h'")
ROLES = {"CAP": Role.UNTOUCHED, "Z": Role.UNTOUCHED, "W": Role.WEIGHT}


def rows(n: int, seed: int = 1) -> list[dict[str, object]]:
    """A sum, an order between a masked and an unmasked field, an order of categories, weights, missing values."""
    draw = random.Random(seed)
    made: list[dict[str, object]] = []
    for _ in range(n):
        a, b = draw.randint(0, 600), draw.randint(0, 200)
        row = {"A": a, "B": b, "T": a + b, "CAP": a + draw.choice([5, 40, 400]), "Z": draw.choice("xy")}
        row |= {
            "R": draw.choice("lmh"),
            "W": draw.choice([1, 2, 7.5]),
            "Q": draw.randint(0, 9) if draw.random() < 0.9 else "",
        }
        made.append(row)
    return made


def settings(k: int = 3) -> Config:
    return Config(k=k, secret=bytes(range(32)), roles=ROLES, ordinal={"R": ("l", "m", "h")}, numeric=("Q",))


def prepared(folder: Path, n: int, k: int = 3) -> Run:
    config = settings(k)
    data, rules = write_data(folder / "d.xml", rows(n)), write_rules(folder / "r.sch", *RULES)
    return open_original(data, rules, config, no_progress).planned(no_progress)


def inputs_of(run: Run) -> MaskingInputs:
    return MaskingInputs.of(run.kept, run.plan, run.job.edits, run.job.rulebook, run.source.document_path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return prepared(tmp_path_factory.mktemp("units"), 400)


@pytest.fixture(scope="module")
def inputs(run: Run) -> MaskingInputs:
    return inputs_of(run)


@pytest.mark.parametrize("sample", [20, 1000])
@pytest.mark.parametrize("most", [60, 100, 399, 400])
def test_every_record_is_in_one_unit_of_bounded_size(inputs: MaskingInputs, run: Run, most: int, sample: int) -> None:
    for partition in run.plan.partitions:
        units = cut_into_units(inputs.rules, partition, 3, most, sample=sample)
        assert sorted(units.members.order.tolist()) == list(range(400))
        assert all((np.diff(unit) > 0).all() for unit in units.members)
        assert units.members.sizes.min() >= LEAST * 3
        assert units.members.sizes.max() <= most + 2 * LEAST * 3


def test_a_stratum_that_is_cut_shares_units_with_remnants_alone(inputs: MaskingInputs, run: Run) -> None:
    for partition in run.plan.partitions:
        patterns = codes_of(inputs.file.missing(partition.variables))
        strata = parted(inputs.rules, partition, FileConditions(inputs.rules), patterns)
        units = cut_into_units(inputs.rules, partition, 3, 60)
        large = np.flatnonzero(np.bincount(strata) > 60)
        mixed = [unit for unit in units.members if len({*strata[unit].tolist()}) > 1]
        assert all(sum(np.isin(strata[unit], large)) in (0, *range(30, 121)) for unit in mixed)
        assert {records for records, *_ in units.cut} == {*np.bincount(strata)[large].tolist()}


def test_records_far_out_are_masked_together(tmp_path: Path) -> None:
    draw = random.Random(4)
    far = sorted(draw.sample(range(800), 20))
    made = [{"A": draw.randint(10_000, 90_000) if i in far else draw.randint(0, 100), "B": i % 7} for i in range(800)]
    data, rules = write_data(tmp_path / "d.xml", made), write_rules(tmp_path / "r.sch", "A >= 0", "B >= 0")
    config = Config(k=3, secret=bytes(range(32)), numeric=("B",))
    run = open_original(data, rules, config, no_progress).planned(no_progress)
    (partition,) = (one for one in run.plan.partitions if "A" in one.grouped)
    units = cut_into_units(inputs_of(run).rules, partition, 3, 100)
    assert set(far) <= set(units.members[0].tolist())


def test_a_part_is_measured_in_the_scales_of_the_file(inputs: MaskingInputs, run: Run) -> None:
    file, some = inputs.file, np.arange(3, 400, 7)
    part = file.part(some)
    for partition in run.plan.partitions:
        for name in partition.variables:
            if name in file.numeric or name in file.ranks:
                assert part.points([name]).tobytes() == file.points([name])[some].tobytes()
            assert part.measured_in(name) == file.measured_in(name)
            assert part.deviation(name) == file.deviation(name)
            if name in file.numeric:
                assert [part.grid(name, tied=tied) == file.grid(name, tied=tied) for tied in (True, False)] == [
                    True
                ] * 2
    assert part.part(np.arange(5)).scales == part.scales
    assert part.measured_in("A") != file.part(some).measured_in("B")


def masked(run: Run, slices: UnitSlices | None) -> Masked:
    return mask_records(
        run.kept,
        run.plan,
        run.job.edits,
        run.job.rulebook,
        original=run.source.document_path,
        max_observed_share=100.0,
        method=run.method,
        streams=run.randomness.streams,
        units=slices,
    )


@pytest.fixture
def slices(tmp_path: Path) -> Iterator[UnitSlices]:
    with RunParts(tmp_path / "parts", {"input": "1"}) as parts:
        yield UnitSlices(parts, Serial(), 90)


def test_groups_lie_in_units_and_have_k_records(run: Run, inputs: MaskingInputs, slices: UnitSlices) -> None:
    made = masked(run, slices)
    for partition in run.plan.partitions:
        units = cut_into_units(inputs.rules, partition, 3, 90)
        unit_of = np.empty(400, dtype=np.intp)
        unit_of[units.members.order] = units.members.labels
        for one in (one for one in made.blocks if one.block.variables in [own.variables for own in partition.blocks]):
            assert one.grouping.sizes.min() >= 3
            if len(one.block.candidates) == 1 or len(partition.blocks) > 1:
                assert not one.grouping.varying(unit_of[:, None]).any()
            assert one.grouping.cut is not None
            assert one.grouping.spread > 0


@pytest.mark.full
def test_where_all_fits_nothing_is_cut(run: Run, tmp_path: Path) -> None:
    with RunParts(tmp_path / "parts", {"input": "1"}) as parts:
        made = masked(run, UnitSlices(parts, Serial(), 400))
        assert parts.names == ()
    whole = masked(run, None)
    for one, other in zip(made.blocks, whole.blocks, strict=True):
        assert (one.grouping.labels == other.grouping.labels).all()
        assert (one.settled.lexemes == other.settled.lexemes).all()


@pytest.mark.full
def test_a_run_goes_on_from_its_parts(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    with RunParts(whole, {"input": "1"}) as parts:
        made = masked(run, UnitSlices(parts, Serial(), 90))
        names = parts.names
    done = 0

    class Killed(BaseException):
        pass

    def enter(self: RunParts, part: RunPart) -> None:
        nonlocal done
        done += 1
        if done == len(names) // 2:
            raise Killed
        entered(self, part)

    entered = RunParts.enter
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RunParts, "enter", enter)
        with RunParts(tmp_path / "parts", {"input": "1"}) as parts:
            masked(run, UnitSlices(parts, Serial(), 90))
    done = -(10**9)
    with monkeypatch.context() as patch, RunParts(tmp_path / "parts", {"input": "1"}, resume=True) as parts:
        before = set(parts.names)
        assert len(before) == len(names) // 2 - 1
        patch.setattr(
            RunParts,
            "enter",
            lambda self, part: (part.name in before and pytest.fail(part.name), entered(self, part)),
        )
        again = masked(run, UnitSlices(parts, Serial(), 90))
        assert {name.split("-", 1)[1] for name in parts.names} == {name.split("-", 1)[1] for name in names}
    for one, other in zip(again.blocks, made.blocks, strict=True):
        assert one.grouping.labels.tobytes() == other.grouping.labels.tobytes()
        assert one.settled.lexemes.tolist() == other.settled.lexemes.tolist()


@pytest.mark.full
def test_processes_find_what_one_process_finds(run: Run, slices: UnitSlices, tmp_path: Path) -> None:
    made = masked(run, slices)
    with RunParts(tmp_path / "others", {"input": "1"}) as parts, LocalProcesses(2) as processes:
        other = masked(run, UnitSlices(parts, processes, 90))
    for one, same in zip(made.blocks, other.blocks, strict=True):
        assert one.grouping.labels.tobytes() == same.grouping.labels.tobytes()
        assert one.settled.lexemes.tolist() == same.settled.lexemes.tolist()


def test_a_unit_that_cannot_be_masked_ends_the_run(tmp_path: Path) -> None:
    """What no group of a unit can do is said as it is of a file."""
    config = replace(settings(), keep_missing=True)
    made = rows(300)
    for row in made[:2]:
        row["A"] = row["T"] = ""
    data, rules = write_data(tmp_path / "d.xml", made), write_rules(tmp_path / "r.sch", "A + B = T or A = ''")
    run = open_original(data, rules, config, no_progress).planned(no_progress)
    with (
        RunParts(tmp_path / "parts", {"input": "1"}) as parts,
        refused(InfeasibleError, "rare-missing-pattern", k=3),
    ):
        mask_records(
            run.kept, run.plan, run.job.edits, run.job.rulebook, original=data, max_observed_share=100.0,
            keep_missing=True, units=UnitSlices(parts, Serial(), 90),
        )  # fmt: skip
