"""Tasks that run before they are asked for: in order, not too many, and nobody can tell from the results."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from masktron.large_arrays import arrays_in_files, new_array
from masktron.masking.run import Prefetch


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_and_errors_come_where_they_are_asked_for(workers: int) -> None:
    def fail() -> int:
        raise KeyError("third")

    ahead = Prefetch([lambda: 0, lambda: 1, fail, lambda: 3], workers)
    assert [ahead.take(0), ahead.take(1)] == [0, 1]
    with pytest.raises(KeyError, match="third"):
        ahead.take(2)
    assert ahead.take(3) == 3


def test_as_many_run_ahead_as_there_are_workers() -> None:
    started = [threading.Event() for _ in range(6)]
    go_on = threading.Event()

    def task(position: int) -> int:
        started[position].set()
        if position:
            assert go_on.wait(10)
        return position

    ahead = Prefetch([lambda at=at: task(at) for at in range(6)], 2)  # type: ignore[misc]
    assert ahead.take(0) == 0
    assert started[1].wait(10)
    assert started[2].wait(10)
    assert not started[3].wait(0.2)
    go_on.set()
    assert [ahead.take(at) for at in range(1, 6)] == [1, 2, 3, 4, 5]


def test_threads_do_not_keep_the_process() -> None:
    """After Ctrl-C nobody waits for groups that are being formed."""
    ahead = Prefetch([threading.current_thread], 2)
    assert ahead.take(0).daemon


def test_large_arrays_of_tasks_are_where_those_of_their_run_are() -> None:
    """A run that has little memory forms its groups in threads, and their arrays take as much there."""
    with arrays_in_files(wanted=True):
        assert not Prefetch([lambda: new_array(1 << 20, np.uint8)], 2).take(0).flags.owndata
