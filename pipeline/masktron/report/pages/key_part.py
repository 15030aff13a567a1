"""What others find by the fields that they may know, on a page."""

from __future__ import annotations

from masktron.report.key_lines import key_lines
from masktron.report.pages.common_parts import figure, listed, per_cent
from masktron.report.pages.page import PagePart, PageTable
from masktron.report.pages.plain_reader import PlainData
from masktron.report.text import number


def key_parts(result: PlainData) -> list[PagePart]:
    """Sentences, records by how many share their keys, and what each field contributes; nothing without keys."""
    if not result.has("keys"):
        return []
    keys = result.part("keys")
    content, records = keys.content, keys.count("records")
    others = content["below_without_weight"]
    columns = ("like fewer than", "records", "of all", *(("without the weight",) if others else ()))
    rows = tuple(
        (k, number(below), per_cent(below, records), *((number(others[k]),) if others else ()))
        for k, below in content["below"].items()
    )
    parts: list[PagePart] = [
        *listed("", [f"{one[:1].upper()}{one[1:]}." for one in key_lines(content)]),
        PageTable("Records that few are like, by their keys", columns, rows, frozenset(columns)),
    ]
    if content["contributions"] is not None and any(content["minimal_uniques"]):
        shares = sorted(content["contributions"].items(), key=lambda one: -one[1])
        parts.append(
            PageTable(
                "What makes records special: part of the scores of minimal sample uniques (SUDA)",
                ("field", "contribution"),
                tuple((name, figure(share, "%", 1)) for name, share in shares),
                frozenset({"contribution"}),
            )
        )
    return parts
