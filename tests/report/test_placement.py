"""Names beside points of a picture: they stay inside and cover neither a point, nor a name, nor a range."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from masktron.report.pictures.plane import PictureBox, ToName, placed

INSIDE = PictureBox(0, 0, 400, 300)
SPOTS = st.tuples(st.floats(0, 400), st.floats(0, 300))
POINTS = st.lists(
    st.builds(
        ToName,
        spot=SPOTS,
        radius=st.floats(2, 9),
        sizes=st.sampled_from([((60.0, 13.0), (12.0, 13.0)), ((12.0, 13.0),), ((150.0, 13.0),)]),
    ),
    max_size=10,
)


@given(POINTS, st.lists(st.tuples(SPOTS, SPOTS), max_size=4))
@settings(max_examples=12, deadline=None)
def test_no_name_covers_anything(points: list[ToName], ranges: list[tuple[tuple[float, float], ...]]) -> None:
    avoided = [
        PictureBox(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])).around(1) for a, b in ranges
    ]
    found = placed(points, INSIDE, avoided)
    assert found == placed(points, INSIDE, avoided)
    names = [one for one in found if one is not None]
    marks = [point.mark for point in points]
    assert not any(one.box.meets(other.box) for one, other in combinations(names, 2))
    assert not any(one.box.meets(mark) for one in names for mark in (*marks, *avoided))
    assert all(INSIDE.holds(one.box) for one in names)
    for point, one in zip(points, found, strict=True):
        if one is not None:
            size = one.box.right - one.box.left, one.box.top - one.box.bottom
            assert all(abs(a - b) < 1e-9 for a, b in zip(size, point.sizes[one.which], strict=True))
            assert one.line is None or not any(other.box.crossed(one.line) for other in names if other is not one)


def test_what_tells_most_is_taken_where_there_is_room() -> None:
    both = ((60.0, 13.0), (12.0, 13.0))
    (free,) = placed([ToName((200, 150), 4, both)], INSIDE)
    assert free is not None
    assert (free.which, free.line) == (0, None)
    assert free.box.left > 204  # to the right, as it is read
    narrow = PictureBox(171, 100, 230, 200)
    (short,) = placed([ToName((200, 150), 4, both)], narrow)
    assert short is not None
    assert short.which == 1


def test_a_name_that_is_far_has_a_line_and_one_without_a_place_is_none() -> None:
    around = [PictureBox(180, 130, 220, 170)]
    (far,) = placed([ToName((200, 150), 4, ((12.0, 13.0),))], INSIDE, around)
    assert far is not None
    assert far.line is not None
    assert placed([ToName((200, 150), 4, ((500.0, 13.0),))], INSIDE) == [None]


def test_a_name_rather_covers_no_line() -> None:
    line = ((204.0, 150.0), (400.0, 150.0))
    (one,) = placed([ToName((200, 150), 4, ((60.0, 13.0),))], INSIDE, lines=[line])
    assert one is not None
    assert not one.box.crossed(line)


def test_lines_that_miss_a_box_do_not_cross_it() -> None:
    box = PictureBox(0, 0, 10, 10)
    for line, crosses in (
        (((-5, 5), (15, 5)), True),
        (((5, -5), (5, -1)), False),
        (((-5, 11), (15, 11)), False),
        (((-1, 5), (5, 12)), True),
        (((-4, 8), (5, 17)), False),
    ):
        assert box.crossed(line) is crosses
