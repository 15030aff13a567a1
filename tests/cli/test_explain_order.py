"""`explain` takes the rulebook as it always did, and as all other commands do."""

from __future__ import annotations

from pathlib import Path

from cli_runner import Runner, numbers, write_data, write_rules


def test_both_orders_say_the_same(tmp_path: Path, run: Runner) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")
    first, second = run("explain", rules, "--data", data), run("explain", data, "--rules", rules)
    assert (first.code, first.out) == (second.code, second.out) == (0, first.out)
    assert "A + B = T" in first.out
    twice = run("explain", data, "--rules", rules, "--data", data)
    twice.refuses(2, "given-twice")


def test_the_part_that_is_not_understood_is_not_taken_for_the_rule(tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "not(A != round(1000 * B div A) div 10)", "A + B = T")
    told = " ".join(run("explain", rules).out.split())
    assert "opaque not understood: A != " in told
    assert told.count("not understood") == 1
