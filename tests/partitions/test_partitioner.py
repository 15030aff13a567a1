"""Which partition records get: the optimum, MDAV, or that of blocks; and what a cut costs."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import copy_context
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import masktron.kernels.mdav as mdav_kernel
import masktron.partitions.partitioner as module
from masktron.kernels.compiling import told_of_compiling
from masktron.kernels.mdav import mdav
from masktron.kernels.univariate import univariate
from masktron.partitions.kdcut import Cuts, kd_cut
from masktron.partitions.mdav import standardise
from masktron.partitions.partitioner import Partitioner


def cloud(n: int, d: int, seed: int = 1) -> NDArray[np.float64]:
    return standardise(np.exp(np.random.default_rng(seed).normal(size=(n, d))))


@given(st.integers(1, 60), st.integers(0, 3), st.integers(1, 9), st.integers(0, 10**6))
def test_several_varying_columns_get_mdav(n: int, d: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, (n, d + 2)).astype(np.float64)
    points[:, 0] = 3.0
    k = min(k, n)
    varying = np.flatnonzero(np.ptp(points, axis=0) > 0)
    found = Partitioner()(points, k)
    if len(varying) == 1:
        assert found.tolist() == univariate(points[:, varying[0]], k).tolist()
    else:
        assert found.tolist() == mdav(points, k).tolist()


def test_only_what_is_too_large_is_cut() -> None:
    points = cloud(300, 3)
    cuts = Cuts()
    assert Partitioner(300, cuts=cuts)(points, 4).tolist() == mdav(points, 4).tolist()
    lonely = np.column_stack([points[:, 0], np.zeros(300)])
    assert Partitioner(20, cuts=cuts)(lonely, 4).tolist() == univariate(points[:, 0], 4).tolist()
    assert cuts.largest() is None
    Partitioner(299, cuts=cuts)(points, 4)
    assert cuts.largest() is not None


@pytest.mark.parametrize(("n", "most", "k"), [(1000, 100, 3), (1001, 260, 7), (97, 15, 5), (50, 6, 2)])
def test_each_block_is_partitioned_alone(n: int, most: int, k: int) -> None:
    points = cloud(n, 3)
    points[:, 2] = np.round(points[:, 2])
    labels = Partitioner(most)(points, k)
    groups = 0
    for block in kd_cut(points, most, k):
        assert labels[block].tolist() == (groups + Partitioner()(points[block], k)).tolist()
        groups += len(np.unique(labels[block]))
    sizes = np.bincount(labels)
    assert len(sizes) == groups
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert (sizes[:-1] == k).sum() >= len(sizes) - 2


def test_threads_change_nothing() -> None:
    points = cloud(3000, 3)
    found = []
    for workers in (1, 2, 5):
        cuts = Cuts()
        found.append((Partitioner(200, workers, cuts)(points, 3).tolist(), cuts.largest()))
    assert all(one == other for one, other in pairwise(found))
    assert found[0][0] == Partitioner(200)(points, 3).tolist()


def test_a_run_is_told_of_what_its_threads_compile_and_of_no_other_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.kernels.compiling.is_compiled", lambda _: False)
    points, told, other_run = cloud(1000, 3), set[threading.Thread](), copy_context()
    with told_of_compiling(lambda stage, done: told.add(threading.current_thread())):
        other_run.run(Partitioner(200, 2, of=1_000_000), points, 3)
        assert not told
        Partitioner(200, 2, of=1_000_000)(points, 3)
    assert told - {threading.current_thread()}


def slow_within(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    groups = [points[labels == group] for group in np.unique(labels)]
    return float(sum(np.square(own - own.mean(axis=0)).sum() for own in groups))


def test_what_a_cut_costs_is_measured_where_the_whole_is_affordable() -> None:
    points = cloud(2000, 4)
    cuts = Cuts()
    labels = Partitioner(300).recording(cuts)(points, 5)
    cut = cuts.largest()
    assert cut is not None
    assert (cut.records, cut.blocks, cut.largest, cut.measured) == (2000, 8, 250, True)
    excess = slow_within(points, labels) - slow_within(points, mdav(points, 5))
    assert cut.excess == pytest.approx(excess)
    assert cut.loss(float(np.square(points).sum())) == pytest.approx(100 * excess / 8000)


@pytest.mark.full
@pytest.mark.parametrize("d", [4, 8])
def test_the_estimate_is_of_the_size_of_what_is_measured(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud(6000, d)
    cuts = {}
    for bound in (6000, 5999):
        monkeypatch.setattr(module, "AFFORDABLE", bound)
        seen = Cuts()
        Partitioner(800).recording(seen)(points, 5)
        cuts[bound] = seen.largest()
    measured, estimated = cuts[6000], cuts[5999]
    assert measured is not None
    assert estimated is not None
    assert estimated == replace(measured, excess=estimated.excess, measured=False)
    assert 0.7 < estimated.excess / measured.excess < 2


def test_no_more_records_than_allowed_are_ever_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cost is estimated: there may be no memory for more."""
    asked: list[int] = []

    def spy(points: NDArray[np.float64], k: int, *, of: int = 0) -> NDArray[np.intp]:
        asked.append(len(points))
        assert of == 3001
        return mdav(points, k, of=of)

    monkeypatch.setattr(module.kernel, "mdav", spy)
    monkeypatch.setattr(module, "AFFORDABLE", 0)
    Partitioner(400, cuts=Cuts())(cloud(3001, 3), 5)
    assert sum(asked) == 2 * 3001
    assert max(asked) <= 400


def test_parts_of_many_records_go_through_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud(900, 3)
    expected = mdav(points, 3).tolist()
    asked = []
    through = mdav_kernel._through_tree
    monkeypatch.setattr(mdav_kernel, "_through_tree", lambda *given: asked.append(1) or through(*given))
    assert mdav(points, 3, of=30_000).tolist() == expected
    assert asked == [1]


@pytest.mark.parametrize("d", [1, 3])
def test_strata_of_a_large_file_are_for_compiled_code(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points, asked = cloud(400, d), list[int]()
    for kernel, name in ((module.kernel, "mdav"), (module.univariate, "univariate")):
        own = getattr(kernel, name)
        monkeypatch.setattr(kernel, name, lambda points, k, *, of, own=own: asked.append(of) or own(points, k, of=of))
    expected = Partitioner()(points, 3).tolist()
    assert Partitioner(of=30_000)(points, 3).tolist() == expected
    assert asked == [0, 30_000]


def test_nothing_waits_for_a_thread_that_an_interrupt_would_have_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, lock = list[int](), threading.Lock()

    def stopping(points: NDArray[np.float64], k: int, *, of: int) -> NDArray[np.intp]:
        with lock:
            begun.append(len(points))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "partition_whole", stopping)
    with pytest.raises(KeyboardInterrupt):
        Partitioner(100, 2)(cloud(3000, 3), 3)
    assert len(begun) <= 2


def test_small_files_never_load_the_compiler() -> None:
    code = (
        "import sys, numpy as np; from masktron.partitions.partitioner import Partitioner\n"
        "points = np.random.default_rng(1).normal(size=(2000, 2))\n"
        "Partitioner(100)(points, 5); Partitioner()(points[:, :1], 5)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
