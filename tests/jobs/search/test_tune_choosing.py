"""The front and the recommendation, against exhaustive search."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.jobs.search.choosing import NEAR_UNMASKED, broken_limits, choose_candidate, finalists, pareto
from masktron.problems.wording import sentence
from masktron.results import SpreadResult, TuneCandidate

pytestmark = pytest.mark.usefixtures("at_terminal")

RISK, LOSS = "disclosure_risk", "pil"
COORDINATE = st.integers(0, 4).map(float) | st.just(math.nan)
RUN = st.tuples(COORDINATE, COORDINATE, COORDINATE)


def candidate(*runs: tuple[float, ...], names: tuple[str, ...] = (RISK, LOSS, "linkage")) -> TuneCandidate:
    """A candidate with the figures of some runs."""
    columns = dict(zip(names, zip(*runs, strict=True), strict=False))
    return TuneCandidate(
        method="noise",
        params={},
        k=3,
        grouping="rules",
        state="measured",
        records=10,
        seeds=len(runs),
        figures={name: sum(values) / len(values) for name, values in columns.items()},
        spread={name: SpreadResult(min(values), max(values)) for name, values in columns.items()},
    )


def judged(candidates: list[TuneCandidate], limits: dict[str, float]) -> list[TuneCandidate]:
    return [replace(one, within_limits=not broken_limits(one.spread, limits)) for one in candidates]


@given(st.lists(st.tuples(COORDINATE, COORDINATE), max_size=7))
def test_the_front_is_what_no_other_beats(points: list[tuple[float, float]]) -> None:
    found = pareto(dict(enumerate(points)))
    known = [at for at, point in enumerate(points) if not any(map(math.isnan, point))]

    def beaten(at: int) -> bool:
        own = points[at]
        return any(
            all(x <= y for x, y in zip(points[other], own, strict=True)) and (points[other] != own or other < at)
            for other in known
            if other != at
        )

    assert sorted(found) == [at for at in known if not beaten(at)]
    assert [points[at][0] for at in found] == sorted(points[at][0] for at in found)


@given(
    st.lists(st.lists(RUN.filter(lambda run: not any(map(math.isnan, run))), min_size=1, max_size=3), max_size=6),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_the_recommendation_is_the_least_loss_within_the_limits(
    runs: list[list[tuple[float, float, float]]], linkage: int, risk: int
) -> None:
    limits = {"linkage": float(linkage), RISK: float(risk)}
    candidates = judged([candidate(*own) for own in runs], limits)
    found = choose_candidate(candidates, RISK, LOSS, limits)
    # every run of a candidate has to be within every limit; its loss is the mean over the runs
    fine = [
        (sum(run[1] for run in own) / len(own), sum(run[0] for run in own) / len(own), at)
        for at, own in enumerate(runs)
        if all(run[2] <= linkage and run[0] <= risk for run in own)
    ]
    assert found.recommended == (min(fine)[2] if fine else None)
    assert sentence(found.why)


@pytest.mark.parametrize(("limits", "risk", "pasted"), [
    ({}, RISK, "--limit disclosure_risk=30"),
    ({LOSS: 90.0}, RISK, "--limit disclosure_risk=30"),  # it says nothing of risk
    ({}, "key_k", "--limit key_k=30"),
])  # fmt: skip
def test_nothing_is_recommended_without_a_limit_on_risk(limits: dict[str, float], risk: str, pasted: str) -> None:
    runs = [(89.5, 5.0), (29.7, 30.0), (5.0, 80.0)] if risk == RISK else [(2.0, 5.0), (30.4, 30.0), (90.0, 80.0)]
    found = choose_candidate(judged([candidate(run, names=(risk, LOSS)) for run in runs], limits), risk, LOSS, limits)
    assert (found.recommended, len(found.front)) == (None, 3)
    assert sentence(found.why) == f"no limit says how much risk is acceptable: set one, for example {pasted}"
    name, _, bound = pasted.removeprefix("--limit ").partition("=")
    again = {**limits, name: float(bound)}
    assert choose_candidate(judged([candidate(run, names=(risk, LOSS)) for run in runs], again), risk, LOSS, again
                            ).recommended is not None  # fmt: skip


@pytest.mark.parametrize(("state", "finished"), [("unreached", True), ("measured", False)])
def test_nothing_is_recommended_before_the_search_is_finished(state: Any, finished: bool) -> None:
    limits = {"linkage": 50.0}
    first, last = judged([candidate((30.0, 10.0, 5.0)), candidate((30.0, 20.0, 5.0))], limits)
    assert choose_candidate([first, last], RISK, LOSS, limits).recommended == 0
    last = replace(last, state=state) if state == "measured" else replace(last, state=state, figures={}, spread={})
    found = choose_candidate([first, last], RISK, LOSS, limits, finished=finished)
    assert (found.recommended, found.best) == (None, 0)
    assert sentence(found.why).startswith("the search is not finished (")


@pytest.mark.parametrize("name", ["linkage", "unchanged"])
def test_what_leaves_the_file_nearly_as_it_was_is_not_recommended(name: str) -> None:
    limits = {RISK: 95.0}
    names = (RISK, LOSS, name)
    near, far = (
        candidate((80.0, 1.0, 50.0), (80.0, 1.0, NEAR_UNMASKED), names=names),
        candidate((80.0, 30.0, NEAR_UNMASKED - 0.1), names=names),
    )
    assert choose_candidate(judged([near, far], limits), RISK, LOSS, limits).recommended == 1
    found = choose_candidate(judged([near], limits), RISK, LOSS, limits)
    assert found.recommended is None
    assert "leaves the file nearly as it was" in sentence(found.why) and "--limit linkage=45" in sentence(found.why)


def test_concerns_rank_a_candidate_down() -> None:
    limits = {"linkage": 50.0}
    runs = [(30.0, 10.0, 5.0), (30.0, 40.0, 5.0), (30.0, 30.0, 5.0), (30.0, 5.0, 5.0)]
    own = judged([candidate(run) for run in runs], limits)
    own = [replace(own[0], concerns=("a is below 0",)), *own[1:3], replace(own[3], concerns=("b", "c"))]
    found = choose_candidate(own, RISK, LOSS, limits)
    assert found.recommended == 2
    assert "has the fewest concerns of the 4 candidates" in sentence(found.why)
    assert "the 2 that lose less raise more concerns" in sentence(found.why)
    sampled = [replace(one, state="sampled") for one in own]
    assert finalists(sampled, RISK, LOSS, limits)[:2] == [2, 1]


def test_it_says_which_limit_excludes_which() -> None:
    limits = {"linkage": 10.0, LOSS: 20.0}
    runs = [(50.0, 10.0, 60.0), (40.0, 30.0, 20.0)]
    found = choose_candidate(judged([candidate(run) for run in runs], limits), RISK, LOSS, limits)
    assert found.recommended is None
    assert "linkage at most 10 excludes all of 2 (the best has 20)" in sentence(found.why)
    assert "pil at most 20 excludes 1 of 2" in sentence(found.why)


def test_where_none_is_within_the_limits_it_says_which_is_nearest_and_what_to_try() -> None:
    """Nearest by the sum of what is broken, each as a share of its limit."""
    limits = {"linkage": 10.0, "key_k": 4.0, LOSS: 20.0}
    names = (RISK, LOSS, "linkage", "key_k")
    runs = [(50.0, 15.0, 60.0, 2.0), (40.0, 25.0, 11.5, 1.0), (40.0, 90.0, 10.0, 1.0)]
    candidates = judged([candidate(run, names=names) for run in runs], limits)
    sums = [sum(max(0.0, share) for share in (run[1] / 20 - 1, run[2] / 10 - 1, 1 - run[3] / 4)) for run in runs]
    nearest = min(range(3), key=sums.__getitem__)
    assert nearest == 1
    candidates[1] = replace(candidates[1], method="mdav")
    why = sentence(choose_candidate(candidates, RISK, LOSS, limits).why)
    assert "nearest comes mdav, k = 3" in why
    assert "(linkage 11.5 is 1.5 over, key_k 1 is 3 short, pil 25 is 5 over); to go on, " in why
    assert "for key_k let tune try some treatments of keys (--recode FIELD=width:10, --key-k 3;" in why
    assert "for linkage try larger groups" in why
    assert "for pil try smaller groups" in why
    assert why.endswith("; or give another limit")
    candidates[0] = replace(candidates[0], key_k=3)
    assert "for key_k let tune try coarser treatments" in sentence(
        choose_candidate(candidates, RISK, LOSS, limits).why
    )


def test_what_every_candidate_keeps_is_no_step() -> None:
    limits = {"block_k": 9.0, "linkage": 90.0}
    found = judged([candidate((50.0, 10.0, 60.0, 3.0), names=(RISK, LOSS, "linkage", "block_k"))], limits)
    why = sentence(choose_candidate(found, RISK, LOSS, limits).why)
    assert "for block_k try larger groups (--k 20,50) or --grouping all; or give" in why
    assert "for linkage" not in why
    assert "keys" not in why
    alone = sentence(choose_candidate([replace(one, grouping="all") for one in found], RISK, LOSS, limits).why)
    assert "for block_k try larger groups (--k 20,50); or give" in alone


def test_a_figure_without_a_value_is_nearest_to_nothing() -> None:
    limits = {"linkage": 10.0}
    runs = [(50.0, 10.0, math.nan), (40.0, 30.0, 60.0)]
    why = sentence(choose_candidate(judged([candidate(run) for run in runs], limits), RISK, LOSS, limits).why)
    assert "(linkage 60 is 50 over)" in why
    why = sentence(choose_candidate(judged([candidate(runs[0])], limits), RISK, LOSS, limits).why)
    assert "(linkage has no value)" in why


def test_it_says_what_broke_the_limits_and_lost_less() -> None:
    limits = {"linkage": 10.0}
    runs = [(50.0, 10.0, 60.0), (40.0, 30.0, 5.0), (40.0, 35.0, 5.0)]
    found = choose_candidate(judged([candidate(run) for run in runs], limits), RISK, LOSS, limits)
    assert found.recommended == 1
    assert "loses least of the 2 candidates within linkage at most 10" in sentence(found.why)
    assert sentence(found.why).endswith("the one that loses less breaks linkage")


def test_it_says_that_others_were_run_on_a_sample_alone() -> None:
    limits = {"linkage": 10.0}
    runs = [(50.0, 10.0, 6.0), (40.0, 30.0, 5.0), (40.0, 5.0, 5.0)]
    one, other, third = judged([candidate(run) for run in runs], limits)
    found = choose_candidate([one, other, replace(third, state="sampled")], RISK, LOSS, limits)
    assert (found.recommended, found.front) == (0, (1, 0))
    assert "loses least of the 2 candidates run on all records within linkage at most 10" in sentence(found.why)


def test_a_lucky_seed_does_not_keep_a_limit() -> None:
    lucky = candidate((1.0, 1.0, 5.0), (1.0, 1.0, 15.0))
    assert [*map(sentence, broken_limits(lucky.spread, {"linkage": 10.0}))] == ["linkage is 15, the limit 10"]


def test_a_figure_of_which_more_is_better_has_its_least() -> None:
    one = candidate((1.0, 1.0, 3.0), (1.0, 1.0, 7.0), names=(RISK, LOSS, "whole_record_k"))
    assert [*map(sentence, broken_limits(one.spread, {"whole_record_k": 5.0}))] == [
        "whole_record_k is 3, the limit 5"
    ]
    assert broken_limits(one.spread, {"whole_record_k": 3.0}) == ()


def test_a_figure_that_does_not_exist_keeps_no_limit() -> None:
    assert [*map(sentence, broken_limits({}, {"linkage": 10.0}))] == ["linkage is nan, the limit 10"]
    assert broken_limits({"linkage": SpreadResult(math.nan, math.nan)}, {"linkage": 10.0})


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (
            ("refused",),
            "no candidate is admitted: too few; mask --on-refusal suggest, with the settings of one, tries what may "
            "help",
        ),
        (
            ("refused", "ended"),
            "no candidate was measured, for want of time or memory: an engine took too long; fewer workers need less "
            "memory, and a longer rule timeout gives engines more time",
        ),
        (("sampled", "refused"), "no candidate was measured on all records"),
    ],
)
def test_nothing_measured_has_its_reason(states: tuple[str, ...], told: str) -> None:
    blank = TuneCandidate(method="mdav", params={}, k=3, grouping="rules")
    made = {
        "refused": replace(blank, state="refused", reasons=("too few",)),
        "ended": replace(blank, state="ended", reasons=("an engine took too long",)),
        "unreached": blank,
        "sampled": replace(candidate((1.0, 1.0, 1.0)), state="sampled"),
    }
    found = choose_candidate([made[state] for state in states], RISK, LOSS, {})
    assert found.recommended is None
    assert sentence(found.why) == told


def test_one_seed_is_said() -> None:
    limits = {"linkage": 10.0}
    for runs in (1, 2):
        own = [replace(one, draws=True) for one in judged([candidate(*[(30.0, 10.0, 5.0)] * runs)], limits)]
        why = sentence(choose_candidate(own, RISK, LOSS, limits).why)
        assert ("; it was run with one seed only" in why) == (runs == 1)
    groups = judged([candidate((30.0, 10.0, 5.0))], limits)  # nothing is drawn: one run is all there is
    assert "seed" not in sentence(choose_candidate(groups, RISK, LOSS, limits).why)


@pytest.mark.parametrize(
    ("best", "following", "told"),
    [
        ([(2, 10), (2, 14)], [(2, 15)],
         "its range over the seeds (pil 10 to 14) is wider than the gap of 3 to the next, ipso, k = 3, "
         "grouping rules"),
        ([(2, 10), (2, 12)], [(2, 15)], ""),
        ([(0, 10), (9, 12)], [(9, 15)], ""),  # the range of a risk within the limit decides nothing
        ([(2, 11)], [(2, 10.5), (2, 13)],
         "the range of the next, ipso, k = 3, grouping rules, over its seeds (pil 10.5 to 13) is wider than the gap "
         "of 0.75"),
        ([(2, 11)], [(2, 11)], ""),
    ],
)  # fmt: skip
def test_a_range_that_is_wider_than_the_gap_is_said(
    best: list[tuple[float, float]], following: list[tuple[float, float]], told: str
) -> None:
    given = {RISK: 20.0}
    candidates = judged([candidate(*best, names=(RISK, LOSS)), candidate(*following, names=(RISK, LOSS))], given)
    found = choose_candidate([candidates[0], replace(candidates[1], method="ipso")], RISK, LOSS, given)
    assert found.recommended == 0
    assert told in sentence(found.why)
    assert ("range" in sentence(found.why)) == bool(told)


def test_finalists_are_those_within_the_limits_before_the_front() -> None:
    limits = {"linkage": 10.0}
    runs = [(50.0, 10.0, 60.0), (40.0, 30.0, 5.0), (45.0, 35.0, 5.0), (60.0, 70.0, 11.0), (1.0, 90.0, 80.0)]
    sampled = [replace(one, state="sampled") for one in judged([candidate(run) for run in runs], limits)]
    found = finalists(sampled, RISK, LOSS, limits)
    assert found[:3] == [1, 2, 3]
    assert set(found[3:]) == {0, 4}
    assert finalists(sampled, RISK, LOSS, limits, again=True) == [1, 2]
