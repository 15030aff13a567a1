"""Rows for the expressions of `columns_xpath2_table`: of odd lexemes, and plain ones."""

from __future__ import annotations

import random

from rulebook_builder import layout

NAMES = ("V1", "V2", "V3", "N1", "N2", "D1")
LAYOUT = layout(*NAMES)
ODD = [
    *(
        "",
        " ",
        "abc",
        " 5 ",
        "5",
        "7",
        "-3",
        "0",
        "-0",
        "-0.0",
        "1.5",
        "2.50",
        ".5",
        "5.",
        "1e3",
        "+5",
        "INF",
        "-INF",
    ),
    *(
        "NaN",
        "+INF",
        "e5",
        "1e",
        "-",
        ".",
        "--5",
        "1.2.3",
        "N",
        "123456789012345678901",
        "0.1",
        "0.30000000000000004",
    ),
    *(
        "A",
        "x\ny",
        "a b",
        "  a  b ",
        "x,y",
        "2020-02-29",
        "2021-02-29",
        "2020-2-9",
        "2020-02-29Z",
        "true",
        "1",
        "false",
    ),
    *("12345678901234567", "999999999999999999", "0.000000000000000001", "0.0000000000000000000000001", "ABC", "é"),
    *("é é", "é\u00a0b", "\u2003", "é\tb"),
    *("straße", "10", "9", "3.0", "9007199254740993", "2147483648", "\ud7a3", "\U0001f600", None, None, None),
]


def odd_rows(seed: int, n: int = 300) -> list[dict[str, str | None]]:
    of = random.Random(seed)
    return [
        {
            **{name: of.choice(ODD) for name in NAMES[:3]},
            "N1": str(of.randint(0, 12)),
            "N2": str(of.randint(-20, 20)),
            "D1": str(round(of.uniform(-10, 10), of.choice([1, 2]))),
        }
        for _ in range(n)
    ]


def plain_rows(seed: int, n: int = 100) -> list[dict[str, str | None]]:
    of = random.Random(seed)
    return [
        {
            **{name: of.choice(["0", "5", "7", "12", "1.5", "2.25", "10", "-3", "100", "0.1"]) for name in NAMES[:3]},
            "N1": str(of.randint(0, 12)),
            "N2": str(of.choice([-20, -4, -2, -1, 1, 2, 4, 5, 8])),
            "D1": str(round(of.uniform(-10, 10), of.choice([1, 2]))),
        }
        for _ in range(n)
    ]
