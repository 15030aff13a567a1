"""Files that are masked unit by unit: settings, parts that are left, and runs that go on from them."""

from __future__ import annotations

import json
import mmap
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import masktron
from cli_runner import write_data, write_rules
from masktron import large_arrays, memory
from masktron.config import Config
from masktron.errors import DocumentError, InfeasibleError, ResourceError, UsageError, ViolationError
from masktron.executor.run_parts import RunPart, RunParts, parts_folder
from masktron.executor.which import Serial
from masktron.jobs import in_units
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.mask import run_mask
from masktron.jobs.rerun.repeating import run_rerun
from masktron.jobs.run_places import MaskRequest
from masktron.progress import Told, untold
from refusals import refused
from unit_runs import KEY, Files, KilledError, killed_after, mask, sums, unit_config

pytestmark = pytest.mark.usefixtures("at_terminal")

mapped = mmap.mmap
RULES = ("A + B = T", "A >= 0")


@pytest.fixture
def given(tmp_path: Path) -> Files:
    return sums(tmp_path, lambda draw: {"C": draw.randint(0, 50)}, *RULES)


@pytest.fixture
def killed(given: Files) -> Path:
    """Return the parts that a run has left that was ended when it had entered seven."""
    with killed_after(7):
        mask(given)
    folder = parts_folder(given[0].parent / "m.xml")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert not (given[0].parent / "m.xml").exists()
    return folder


def test_a_file_in_units_keeps_its_promise(given: Files) -> None:
    result = mask(given)
    assert result.valid
    assert result.min_group >= 3
    assert all(block.cut is not None and block.cut.largest <= 70 for block in result.blocks)
    out = given[0].parent / "m.xml"
    assert not parts_folder(out).exists()
    manifest = json.loads(out.with_name("m.manifest.json").read_text())
    assert manifest["config"]["unit_records"] == 70
    assert manifest["repeat"]["settings"]["unit_records"] == 70
    assert run_check(CheckRequest(out, given[1], manifest=out.with_name("m.manifest.json"))).complies


def test_a_run_goes_on_to_the_same_bytes(given: Files, killed: Path) -> None:
    whole = mask(given, "whole.xml")
    resumed = mask(given, resume=True)
    folder = given[0].parent
    assert (folder / "m.xml").read_bytes() == (folder / "whole.xml").read_bytes()
    assert resumed.blocks == whole.blocks
    assert not killed.exists()


def test_what_a_killed_run_has_left_is_removed_by_the_next_one(given: Files, killed: Path) -> None:
    told: list[str] = []
    data, rules = given
    run_mask(
        MaskRequest(data, rules, data.parent / "m.xml", config=unit_config()),
        progress=lambda what, _: told.append(what),
    )
    assert [what for what in told if "finished parts" in what and "7" in what]
    assert not killed.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("what", "change"),
    [(("plan", "settings"), {"k": 2}), (("unit_records (70 then, 90 now)",), {"unit_records": 90})],
)
def test_other_settings_are_no_way_on(given: Files, killed: Path, what: tuple[str, ...], change: Any) -> None:
    with refused(UsageError, "cannot-resume", changes=what):
        mask(given, resume=True, **change)
    assert killed.exists(), "who made a mistake loses nothing"
    mask(given, resume=True)


@pytest.mark.parametrize("what", ["input", "rules"])
def test_other_data_or_rules_are_no_way_on(given: Files, killed: Path, what: str) -> None:
    path = given[0] if what == "input" else given[1]
    path.write_text(path.read_text() + "<!-- -->")
    with refused(UsageError, "cannot-resume", changes=(what,)):
        mask(given, resume=True)


@pytest.mark.full
def test_workers_and_limits_may_be_others(given: Files, killed: Path) -> None:
    assert mask(given, resume=True, workers=2, limits={"linkage": 100.0}).valid


def test_the_size_of_units_is_that_of_the_run_that_was_ended(given: Files, killed: Path) -> None:
    assert mask(given, resume=True, unit_records=None).valid
    assert not killed.exists()


@pytest.mark.full
def test_settings_are_told_apart_alike_in_every_process() -> None:
    """Sets have another order in each."""
    text = (
        "from masktron.jobs.in_units import _plain; import json; "
        "print(json.dumps({'A': frozenset(map(str, range(50)))}, default=_plain))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.full
def test_units_of_one_category_are_masked(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows: list[dict[str, object]] = [{"A": draw.randint(0, 90), "C": draw.choice("abc")} for _ in range(600)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    for size in (100, None):
        config = unit_config(nominal=("C",), group_size_vars=1, unit_records=size)
        result = run_mask(MaskRequest(data, rules, tmp_path / f"{size}.xml", config=config))
        assert result.valid
        assert result.min_group >= 3


@pytest.mark.full
def test_blocks_inside_of_units_are_told(given: Files) -> None:
    result = mask(given, unit_records=200, max_block_records=20)
    whole = mask(given, "whole.xml", unit_records=None, max_block_records=20)
    for one, other in zip(result.blocks, whole.blocks, strict=True):
        assert other.cut is None or one.cut is not None
    assert any(block.cut is not None for block in result.blocks)


@pytest.mark.full
def test_a_data_frame_leaves_nothing(given: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    frame = pd.DataFrame({"A": [draw.randint(0, 90) for _ in range(240)], "B": 1.5, "T": 0})
    frame["T"] = frame["A"] + frame["B"]
    before = {*tmp_path.iterdir()}
    result = masktron.mask(frame, given[1], k=3, secret=KEY, unit_records=70)
    assert all(block.cut is not None for block in result.blocks if "A" in block.variables)
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr("masktron.masking.run.keep_totals", _killed)
        masktron.mask(frame, given[1], k=3, secret=KEY, unit_records=70)
    assert {*tmp_path.iterdir()} == before


def _killed(*_: object, **__: object) -> None:
    raise KilledError


def test_limits_that_are_not_met_keep_the_parts(given: Files) -> None:
    with pytest.raises(ViolationError) as caught:
        mask(given, limits={"linkage": 0.0})
    assert "--resume" in caught.value.hint
    assert mask(given, resume=True, limits={"linkage": 100.0}).valid


def test_a_rule_file_that_is_included_counts(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    _, rules = given
    inner = rules.with_name("inner.sch")
    text = rules.read_text()
    begin, end = text.index("<pattern"), text.index("</pattern>") + len("</pattern>")
    name = 'xmlns="http://purl.oclc.org/dsdl/schematron"'
    inner.write_text(text[begin:end].replace("<pattern", f"<pattern {name}", 1))
    rules.write_text(f'{text[:begin]}<include href="inner.sch"/>{text[end:]}')

    with monkeypatch.context() as patch, pytest.raises(ResourceError) as stopped:
        patch.setattr("masktron.masking.run.keep_totals", _gone)
        mask(given)
    assert "--resume" in stopped.value.hint
    changed = inner.read_text().replace("A + B = T", "T = A + B")
    assert changed != inner.read_text()
    inner.write_text(changed)
    with refused(UsageError, "cannot-resume", changes=("rules",)):
        mask(given, resume=True)


def test_what_is_not_a_run_s_is_left_alone(given: Files) -> None:
    folder = parts_folder(given[0].parent / "m.xml")
    folder.mkdir(mode=0o700)
    (folder / "thesis.txt").write_text("years of work")
    with refused(DocumentError, "parts-taken", where=folder):
        mask(given)
    assert (folder / "thesis.txt").read_text() == "years of work"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are not those of Windows")
def test_parts_that_others_could_have_written_are_not_taken(given: Files, killed: Path) -> None:
    killed.chmod(0o770)
    with refused(DocumentError, "parts-taken", reason="others could write to it"):
        mask(given, resume=True)
    killed.chmod(0o700)
    part = next(path for path in sorted(killed.iterdir()) if "records" in path.name)
    part.chmod(0o640)
    with refused(DocumentError, "part-changed", where=part) as caught:
        mask(given, resume=True)
    assert not caught.value.problem.further, "it cannot go on from there"


def test_a_run_on_all_records_at_once_says_what_there_was(
    given: Files, killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    data, rules = given
    out = data.parent / "m.xml"
    with monkeypatch.context() as patch, pytest.raises(ResourceError):
        patch.setattr("masktron.masking.run.keep_totals", _gone)
        run_mask(MaskRequest(data, rules, out, config=unit_config(unit_records=0)))
    assert killed.exists(), "nothing is written yet"
    run_mask(
        MaskRequest(data, rules, out, config=unit_config(unit_records=0)), progress=lambda what, _: told.append(what)
    )
    assert [what for what in told if "7 finished parts" in what and "go when m.xml is written" in what]
    assert not killed.exists()


def _gone(*_: object, **__: object) -> None:
    raise ResourceError("gone")


class Twice(Serial):
    """Computes every slice once more after its result was taken, as a worker does that was given up too early."""

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        late: list[S] = []
        for piece in slices:
            made = function(piece)
            while late:
                function(late.pop())
            yield made
            late.append(piece)
        for piece in late:
            function(piece)


@pytest.mark.full
def test_a_slice_that_is_computed_twice_is_harmless(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(given, "once.xml")
    monkeypatch.setattr(in_units, "executor_of", lambda *_, **__: Twice())
    mask(given, "m.xml")
    folder = given[0].parent
    assert (folder / "m.xml").read_bytes() == (folder / "once.xml").read_bytes()
    assert not parts_folder(folder / "m.xml").exists()


def test_parts_that_change_within_a_run_are_one_error(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = RunParts.enter

    def changed(self: RunParts, part: RunPart) -> None:
        entered(self, part)
        if part.name.endswith("groups-000001"):
            path = self.path(part.name)
            path.write_bytes(path.read_bytes()[:-1] + b"?")

    with monkeypatch.context() as patch, refused(DocumentError, "part-changed") as caught:
        patch.setattr(RunParts, "enter", changed)
        mask(given)
    assert caught.value.where.endswith("groups-000001")
    assert mask(given, resume=True).valid


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [70, None])
def test_a_manifest_gives_the_size_of_units_with_its_key(given: Files, size: int | None) -> None:
    mask(given, unit_records=size or 0)
    folder = given[0].parent
    manifest = folder / "m.manifest.json"
    assert json.loads(manifest.read_text())["config"]["unit_records"] == size
    # with so little memory there are units of 128 records where nobody says how many
    again = Config(k=3, secret=manifest, workers=1, memory=400_000_000)  # type: ignore[arg-type]
    assert again.unit_records == (size or 0)
    run_mask(MaskRequest(*given, folder / "again.xml", config=again))
    assert (folder / "again.xml").read_bytes() == (folder / "m.xml").read_bytes()
    assert replace(again, unit_records=90).unit_records == 90
    assert Config(k=50, secret=manifest).unit_records == (None if size else 0)  # type: ignore[arg-type]


@pytest.mark.full
def test_a_file_may_be_pinned_whole(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BASE", 399_000_000)
    monkeypatch.setattr(memory, "WHOLE_CELL", 10_000)
    folder = given[0].parent
    mask(given, "whole.xml", unit_records="whole", memory=400_000_000)
    manifest = folder / "whole.manifest.json"
    assert json.loads(manifest.read_text())["config"]["unit_records"] is None
    mask(given, "units.xml", unit_records=None, memory=400_000_000)
    assert (folder / "units.xml").read_bytes() != (folder / "whole.xml").read_bytes()
    monkeypatch.setattr("masktron.memory.free_memory", lambda: 800_000_000)
    result = run_rerun(manifest, given[0], folder / "again.xml")
    assert result.same_bytes
    with refused(UsageError, "cannot-resume"):
        mask(given, "whole.xml", unit_records=0, resume=True)


def test_nothing_to_go_on_from(given: Files) -> None:
    with refused(UsageError, "nothing-to-resume"):
        mask(given, resume=True)


def test_rules_that_cannot_be_kept_leave_no_parts(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise InfeasibleError("no")

    monkeypatch.setattr("masktron.masking.run.keep_totals", refused)
    with pytest.raises(InfeasibleError):
        mask(given)
    assert not parts_folder(given[0].parent / "m.xml").exists()


def test_a_scheduler_that_does_not_answer_keeps_the_parts(
    given: Files, killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed: masktron[dask]")
    monkeypatch.setattr("masktron.executor.dask_cluster._MISSING", 0.3)
    with refused(UsageError, "cluster-unreachable") as caught:
        mask(given, resume=True, executor="dask", scheduler="tcp://127.0.0.1:1")
    assert "7 finished parts stay in" in caught.value.hint
    mask(given, resume=True)


def test_where_all_fits_the_bytes_are_those_of_the_file_as_a_whole(given: Files) -> None:
    mask(given, "fits.xml", unit_records=240)
    mask(given, "whole.xml", unit_records=None)
    folder = given[0].parent
    assert (folder / "fits.xml").read_bytes() == (folder / "whole.xml").read_bytes()
    for name in ("fits", "whole"):
        assert json.loads((folder / f"{name}.manifest.json").read_text())["config"]["unit_records"] is None


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Mask with 1 MB for units of 4 fields, and return the settings of the manifest."""
    monkeypatch.setattr(memory, "BASE", 399_000_000)
    monkeypatch.setattr(memory, "WHOLE_CELL", 10_000)

    def masked(given: Files, **more: Any) -> Any:
        assert mask(given, unit_records=None, memory=400_000_000, **more).valid
        return json.loads((given[0].parent / "m.manifest.json").read_text())["config"]

    return masked


@pytest.mark.parametrize(
    ("held", "k", "size"),
    [
        (None, 3, 128),  # 1 MB among 6 units of 4 fields of 250 bytes are 166 records: the power of two below
        (None, 8, 160),  # never smaller than may be asked for
        (500, 3, 64),  # 480,000 bytes are held of 240 records, and 86 fit into the rest
    ],
)
def test_memory_says_how_many_records_are_masked_at_once(
    given: Files, little: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, held: int | None, k: int, size: int
) -> None:
    if held is not None:
        monkeypatch.setattr(memory, "HELD_CELL", held)
    config = little(given, k=k)
    assert config["unit_records"] == size
    assert "memory" not in config


@pytest.mark.parametrize(
    ("cost", "value", "told"),
    [("UNIT_CELL", 10_000, {"memory": 400}), ("HELD_CELL", 5000, {"total": 240, "least": 405})],
)
def test_memory_that_does_not_do_is_refused(
    given: Files,
    little: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    cost: str,
    value: int,
    told: dict[str, int],
) -> None:
    monkeypatch.setattr(memory, cost, value)
    with refused(ResourceError, "memory-too-small", **told):
        little(given)


@pytest.mark.full
def test_arrays_in_files_change_nothing(given: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(given, "memory.xml")
    monkeypatch.setattr(memory, "COLUMN_SHARE", 10**12)
    monkeypatch.setattr(large_arrays, "LARGE", 1)
    made: list[int] = []
    monkeypatch.setattr(mmap, "mmap", lambda *given: made.append(given[1]) or mapped(*given))
    mask(given, "files.xml")
    assert len(made) > 20
    folder = given[0].parent
    assert (folder / "memory.xml").read_bytes() == (folder / "files.xml").read_bytes()
    texts = [(folder / f"{name}.manifest.json").read_text() for name in ("memory", "files")]
    assert texts[0].replace("memory.", "files.") == texts[1].replace("memory.xml", "files.xml")


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("1.5 GiB", 1610612736), (" 512mb ", 512 * 10**6), (10**9, 10**9)]
)
def test_sizes_of_memory(text: object, size: int) -> None:
    assert Config(memory=text).memory == size  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["4", "GB", "-4GB", "1MB", 100, 4.0, True, "4 gigs"])
def test_no_sizes_of_memory(text: object) -> None:
    with refused(UsageError, "bad-value", name="memory"):
        Config(memory=text)  # type: ignore[arg-type]


def test_units_are_not_too_small() -> None:
    with refused(UsageError, "bad-value", name="unit_records", expected="at least 20k = 100", given=99):
        Config(k=5, unit_records=99)
