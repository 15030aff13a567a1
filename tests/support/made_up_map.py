"""A risk-utility map as ``tune --json`` writes it, made up."""

from __future__ import annotations

from typing import Any

NOTICE = "CONFIDENTIAL: for inside the agency."


def candidate(method: str, k: int, **changes: Any) -> dict[str, Any]:
    """Return a candidate with figures that follow from k; `changes` override."""
    loss, risk = 1.5 * k**0.7, 95.0 / k**0.4
    plain: dict[str, Any] = {
        "method": method,
        "params": {},
        "k": k,
        "grouping": "all",
        "aggregator": None,
        "state": "measured",
        "records": 1080,
        "seeds": 1,
        "draws": False,
        "figures": {"linkage": risk, "information_loss": loss, "score": (risk + loss) / 2},
        "within_limits": risk <= 50,
        "reasons": [] if risk <= 50 else ["linkage is above its limit of 50"],
        "same_as": None,
        "levels": {},
    }
    plain |= changes
    plain["spread"] = {
        name: {"least": 0.95 * value, "most": 1.04 * value, "field": ""}
        if plain["seeds"] > 1
        else {"least": value, "most": value, "field": ""}
        for name, value in plain["figures"].items()
    }
    return plain


def made_up_map() -> dict[str, Any]:
    """Return a map of eleven candidates: measured, drawn with several seeds, refused, the same, not reached."""
    without: dict[str, Any] = {"figures": {}, "within_limits": None, "records": 0, "seeds": 0}
    noisy = {"linkage": 38.0, "information_loss": 7.7, "score": 22.0}
    candidates = [
        *(candidate("mdav", k) for k in (3, 5, 10, 20)),
        candidate("mst", 5, figures={"linkage": 47.0, "information_loss": 8.1, "score": 27.0}, within_limits=True),
        candidate("noise", 5, seeds=5, draws=True, params={"share": 0.2}, figures=noisy, within_limits=True),
        candidate("cart", 5, seeds=5, draws=True, figures={"linkage": 4.0, "information_loss": 62.0, "score": 33.0}),
        candidate("mdav", 5, grouping="rules", figures={"linkage": 91.0, "information_loss": 2.1, "score": 46.0}),
        candidate("t_closeness", 5, state="refused", reasons=["t_closeness needs a class"], **without),
        candidate("mdav_generic", 5, state="same", same_as=1, reasons=["the same as mdav, k = 5"], **without),
        candidate("fuzzy", 5, state="unreached", reasons=["the budget ended before"], **without),
    ]
    return {
        "schema_version": 1,
        "job": "tune",
        "notice": NOTICE,
        "data": "census.xml",
        "rules": "census.sch",
        "records": 1080,
        "sample": None,
        "risk": "linkage",
        "utility": "information_loss",
        "limits": {"linkage": 50.0},
        "candidates": candidates,
        "front": [6, 3, 5, 4, 1, 7],
        "recommended": 5,
        "why": "noise, k = 5, grouping all, share = 0.2 loses least, 7.7 % information_loss, of those inside all "
        "limits.",
        "unmasked": {"linkage": 100.0, "information_loss": 0.0, "score": 50.0},
        "seeds": 5,
        "complete": False,
        "notes": ["noise and cart were run with 5 seeds; take the seed of the release from the system"],
    }


def crowded_map() -> dict[str, Any]:
    """Return a map of 21 candidates: many near each other, with ranges, outside limits, and on a sample alone."""
    spots = [
        (91.0, 14.8), (86.0, 23.0), (80.5, 30.1), (73.2, 38.4),  # mdav by blocks
        (47.0, 33.2), (33.2, 47.1), (25.9, 53.5), (19.5, 61.0),  # over all fields
        (38.5, 40.1), (30.2, 41.8), (18.8, 17.9), (18.6, 17.8), (18.7, 17.6), (19.0, 18.4),
        (5.2, 40.0), (5.2, 40.0), (6.1, 40.7), (12.0, 36.0), (29.9, 42.0), (31.0, 41.2), (55.0, 28.0),
    ]  # fmt: skip
    candidates = []
    for at, (risk, loss) in enumerate(spots):
        drawn = at >= 8
        candidates.append(
            candidate(
                "microhybrid" if drawn else "mdav",
                (3, 5, 10, 20)[at % 4],
                grouping="rules" if at < 4 else "all",
                params={"c": at} if drawn else {},
                state="sampled" if at in (3, 6, 17) else "measured",
                seeds=3 if drawn else 1,
                figures={"linkage": risk, "information_loss": loss, "score": (risk + loss) / 2},
                within_limits=risk <= 40,
                reasons=[] if risk <= 40 else ["linkage is above its limit of 40"],
            )
        )
    return made_up_map() | {
        "candidates": candidates,
        "front": [14, 15, 11, 12, 0],
        "recommended": 12,
        "limits": {"linkage": 40.0},
        "sample": 900,
    }
