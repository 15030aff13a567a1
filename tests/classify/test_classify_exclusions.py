"""``x < 2 or x > 2`` is shown as ``x != 2``; what is shown means what the form does."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_rules
from examples import parts
from masktron.classify.display import Excluded, Piece, render_form, with_exclusions
from masktron.constraints import Atom, Linear, Range

SHOWN = [
    ("relat != 2", "relat != 2 or relat is not a number", "relat != 2"),
    ("2 != relat", "relat != 2 or relat is not a number", "relat != 2"),
    ("not(relat = 2)", "relat != 2 or relat missing", "relat != 2 or relat absent"),
    ("relat != 2 and A > 0", "(A > 0 and relat != 2) or (relat is not a number and A > 0)", "A > 0 and relat != 2"),
    ("not(A = 1 or A = 2)", "A not in {1, 2} or A missing", "A not in {1, 2} or A absent"),
    ("A != 1 and A != 2 and A != 3", "A not in {1, 2, 3} or A is not a number", "A not in {1, 2, 3}"),
    ("not(A = 1) or B = 2", "A != 1 or B = 2 or A missing", "A != 1 or B = 2 or A absent"),
    ("A >= 0 and A != 3", "A >= 0 and A != 3", "A >= 0 and A != 3"),
    ("A + B != 5", "A + B != 5 or A missing or B missing", "A + B != 5"),
    ("A - B != 0", "A != B or A missing or B missing", "A != B"),
    ("A * B != 6", "A * B != 6 or A missing or B missing", "A * B != 6"),
    ("(A < 2 or A > 2) and (B < 1 or B > 1)", "A != 2 and B != 1", "A != 2 and B != 1"),
    # a gap, two fields, a closed end
    ("A < 2 or A > 3", "A < 2 or A > 3", "A < 2 or A > 3"),
    ("A < 2 or B > 2", "A < 2 or B > 2", "A < 2 or B > 2"),
    ("A <= 2 or A > 2", "A is a number", "A is a number"),
]


@pytest.mark.full
@pytest.mark.parametrize("binding", parts(["xslt2", "xslt"], 1))
def test_unequal_is_shown_as_it_is_written(binding: str, tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", *(test for test, *_ in SHOWN), binding=binding)
    shown = [rule.form for rule in masktron.explain(rules).rules]
    assert shown == [row[1 if binding == "xslt" else 2] for row in SHOWN]


ENDS = st.sampled_from([None, *map(Fraction, range(4))])
RANGES = st.builds(Range, st.sampled_from("xy"), ENDS, ENDS, st.booleans(), st.booleans())
SUMS = st.builds(
    lambda sign, relation, bound: Linear((("x", Fraction(sign)), ("y", Fraction(sign))), relation, Fraction(bound)),
    st.sampled_from([1, -1]),
    st.sampled_from(["<", "<="]),
    st.integers(-3, 3),
)
FORMS = st.lists(st.lists(RANGES | SUMS, min_size=1, max_size=2, unique=True).map(tuple), max_size=8)
POINTS = [(Fraction(x, 2), Fraction(y, 2)) for x in range(-1, 8) for y in range(-1, 8)]


def holds(piece: Piece, x: Fraction, y: Fraction) -> bool:
    value = {"x": x, "y": y}
    match piece:
        case Range():
            here = value[piece.variable]
            above = piece.low is None or here > piece.low or (here == piece.low and not piece.low_open)
            return above and (piece.high is None or here < piece.high or (here == piece.high and not piece.high_open))
        case Linear():
            total = sum((c * value[name] for name, c in piece.terms), Fraction(0))
            return total < piece.bound if piece.relation == "<" else total <= piece.bound
        case Excluded(terms=str() as name, values=values):
            return value[name] not in values
        case Excluded(values=values):
            return x + y not in values
    raise TypeError(piece)


@given(FORMS)
def test_what_is_put_together_means_the_same(form: list[tuple[Atom, ...]]) -> None:
    found = with_exclusions(form)
    assert len(found) <= len(form)
    for x, y in POINTS:
        before = any(all(holds(atom, x, y) for atom in conjunction) for conjunction in form)
        assert before == any(all(holds(piece, x, y) for piece in conjunction) for conjunction in found)


def test_nothing_is_left_to_put_together() -> None:
    below, above = Range("x", None, Fraction(2), high_open=True), Range("x", Fraction(2), None, low_open=True)
    between = Range("x", Fraction(2), Fraction(5), low_open=True, high_open=True)
    beyond = Range("x", Fraction(5), None, low_open=True)
    other = Range("y", Fraction(0), None)
    assert with_exclusions([(below,), (above,)]) == [(Excluded("x", frozenset({Fraction(2)})),)]
    assert with_exclusions([(below, other), (above,)]) == [(below, other), (above,)]
    assert render_form(((beyond,), (other,), (below,), (between,))) == "x not in {2, 5} or y >= 0"
