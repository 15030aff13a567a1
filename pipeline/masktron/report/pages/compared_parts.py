"""Pictures of an original and a masked file side by side, for pages inside the agency."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from masktron.counts import counted
from masktron.report.pages.common_parts import SHOWN_RULES, listed, said
from masktron.report.pages.page import PagePart, PagePicture, PictureRow
from masktron.report.pictures.bars import Bar, Bars, PairedBars, PairOfBars
from masktron.report.pictures.compared import (
    ColumnsInOrder,
    MeanAndInterval,
    MeansWithIntervals,
    SquareMatrix,
    TwoDistributions,
)
from masktron.report.result_table import NOTHING, ResultTable
from masktron.report.shared_tables import figure
from masktron.report.text import number
from masktron.results.side_by_side import FieldDistribution, FieldShares, GroupSizes, SideBySide

_NORMAL = 1.96
"""Half the width of a 95 % interval of a mean, in standard errors."""
_SINGLE_SIZES = 4
"""Sizes of groups, from the smallest on, that have a column each."""
_ROUND_SIZES = tuple(times * 10**power for power in range(1, 9) for times in (1, 2, 5))
_TELLING_MOVE = 0.005
"""Change of a correlation from which a matrix of changes says something."""


def by_level(files: SideBySide | None, parts: Callable[[SideBySide], list[PagePart]]) -> tuple[PagePart, ...]:
    """Return parts of two files, of nested ones those of each level by itself; nothing without files."""
    if files is None:
        return ()
    if not files.levels:
        return tuple(parts(files))
    found: list[PagePart] = []
    for at, (level, own) in enumerate(files.levels.items()):
        if drawn := parts(own):
            found += [*said(f"{level}: {counted(own.records, 'record')}."), *(_named(part, at) for part in drawn)]
    return tuple(found)


def _named(part: PagePart, at: int) -> PagePart:
    """Name the pictures of a level, so that each has a name of its own on the page."""
    if isinstance(part, PagePicture):
        return replace(part, name=f"level-{at}-{part.name}")
    if isinstance(part, PictureRow):
        return replace(part, pictures=tuple(replace(one, name=f"level-{at}-{one.name}") for one in part.pictures))
    return part


def distribution_parts(files: SideBySide) -> list[PagePart]:
    """Draw each number and each field of categories before and after masking."""
    small = [_distribution(one, at) for at, one in enumerate(files.distributions)]
    small += [_shares(one, at) for at, one in enumerate(files.shares)]
    notes = listed("", [f"Shown are {note}." for note in files.notes if note.startswith("distributions")])
    return [*([PictureRow(tuple(small), "Grey: the original; blue: the masked file.")] if small else []), *notes]


def _distribution(one: FieldDistribution, at: int) -> PagePicture:
    totals = sum(one.before), sum(one.after)
    shares = [
        tuple(100 * count / total for count in counts)
        for counts, total in zip((one.before, one.after), totals, strict=True)
    ]
    moved = 0.5 * sum(abs(before - after) for before, after in zip(*shares, strict=True))
    # the outer bins are open: they are drawn one step wide, or as wide as the one beside them
    low = one.step if len(one.edges) < 2 else max(one.step, (one.edges[1] - one.edges[0]) / 2)
    high = one.step if len(one.edges) < 2 else max(one.step, (one.edges[-1] - one.edges[-2]) / 2)
    ends = (one.edges[0] - low, *one.edges, one.edges[-1] + high)
    edges = [f"{edge:.10g}" for edge in one.edges]
    names = [f"below {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges))]
    names.append(f"{edges[-1]} and more")
    rows = tuple(
        (name, number(before), number(after), f"{100 * before / totals[0]:.1f} %", f"{100 * after / totals[1]:.1f} %")
        for name, before, after in zip(names, one.before, one.after, strict=True)
    )
    columns = ("values", "original", "masked", "share of the original", "of the masked file")
    return PagePicture(
        f"distribution-{at}",
        one.name,
        _moved_bins(moved),
        TwoDistributions(ends, shares[0], shares[1], whole=one.step == 1.0),
        ResultTable(f"{one.name}: records by value", columns, rows, frozenset(columns[1:])),
    )


def _moved_bins(moved: float) -> str:
    """Say how far two histograms differ, which is no count of records that moved: many may have changed places."""
    if not moved:
        return "The same distribution in both files."
    how_many = "Fewer than 1" if moved < 0.5 else f"{moved:.0f}" if moved >= 1 else "1"
    return f"{how_many} of 100 records would have to change bin to get the old distribution back."


def _shares(one: FieldShares, at: int) -> PagePicture:
    moved = 0.5 * sum(abs(before - after) for before, after in zip(one.before, one.after, strict=True))
    pairs = tuple(PairOfBars(*each) for each in zip(one.categories, one.before, one.after, strict=True))
    rows = tuple((pair.name, f"{pair.before:.1f} %", f"{pair.after:.1f} %") for pair in pairs)
    return PagePicture(
        f"categories-{at}",
        one.name,
        f"{moved:.1f} of 100 records would have to change category to get the old shares back; each counts once.",
        PairedBars(pairs[:SHOWN_RULES], "% of the records"),
        ResultTable(
            f"{one.name}: shares", ("category", "original", "masked"), rows, frozenset({"original", "masked"})
        ),
    )


def moment_parts(files: SideBySide) -> list[PagePart]:
    """Draw means with their intervals, and the variances that are left."""
    moments = [one for one in files.moments if not math.isnan(one.shift) and one.records]
    if not moments:
        return []
    means = tuple(
        MeanAndInterval(
            one.name,
            _NORMAL / math.sqrt(one.records),
            one.shift,
            _NORMAL * math.sqrt(max(one.ratio, 0.0) / one.records),
        )
        for one in moments
    )
    outside = [mean.name for mean in means if abs(mean.mean) > mean.half_before]
    farthest = max(means, key=lambda mean: abs(mean.mean))
    sentence = (
        f"Every mean of the masked file is inside the 95 % interval of the original; {farthest.name} has moved most, "
        f"by {figure(abs(farthest.mean))} standard deviations."
        if not outside
        else f"The means of {', '.join(outside)} are outside the 95 % interval of the original."
    )
    least = min(moments, key=lambda one: one.ratio)
    columns = ("field", "records", "mean before", "mean after", "moved by, in SD", "variance kept")
    rows = tuple(
        (
            one.name,
            number(one.records),
            _magnitude(one.mean_before),
            _magnitude(one.mean_after),
            f"{one.shift + 0.0:+.4f}",
            f"{one.ratio:.3f}",
        )
        for one in moments
    )
    table = ResultTable("Means and variances", columns, rows, frozenset(columns[1:]))
    bars = tuple(Bar(one.name, one.ratio, f"{one.ratio:.3f}") for one in moments)
    return [
        PagePicture(
            "means",
            "Means and their intervals",
            sentence,
            MeansWithIntervals(means),
            table,
            "Grey band: 95 % interval of the mean in the original; blue: mean and interval of the masked file. "
            "Intervals are those of a simple random sample.",
        ),
        PagePicture(
            "variances",
            "How much of the variance is left",
            f"{least.name} has kept least: {least.ratio:.3f} of its variance. Dashed: nothing lost.",
            Bars(bars, "variance after divided by variance before", 1.0),
            table,
        ),
    ]


def _magnitude(value: float) -> str:
    return NOTHING if math.isnan(value) else number(value, ".6g" if abs(value) < 1e6 else ".0f")


def loss_parts(files: SideBySide) -> list[PagePart]:
    """Draw the loss of each number."""
    moments = sorted((one for one in files.moments if not math.isnan(one.loss)), key=lambda one: -one.loss)
    if not moments or not moments[0].loss:
        return []
    first = moments[0]
    columns = ("field", "information loss")
    return [
        PagePicture(
            "loss-by-field",
            "What each field loses",
            f"{first.name} loses most: {figure(first.loss)} % of the differences between respondents.",
            Bars(
                tuple(Bar(one.name, one.loss, f"{figure(one.loss)} %") for one in moments[:SHOWN_RULES]),
                "information loss, % (100 SSE/SST of the field alone)",
            ),
            ResultTable(
                "Loss by field",
                columns,
                tuple((one.name, f"{figure(one.loss)} %") for one in moments),
                frozenset({"information loss"}),
            ),
        )
    ]


def correlation_parts(files: SideBySide) -> list[PagePart]:
    """Draw the correlations before and after, and what changed."""
    names = files.correlated
    pairs = [
        (abs(files.after[row][column] - files.before[row][column]), row, column)
        for row in range(len(names))
        for column in range(row)
        if not math.isnan(files.after[row][column] - files.before[row][column])
    ]
    if len(names) < 2 or not pairs:
        return []
    largest, row, column = max(pairs)
    change = tuple(
        tuple(now - own for now, own in zip(after, before, strict=True))
        for after, before in zip(files.after, files.before, strict=True)
    )
    sentence = (
        f"{names[row]} and {names[column]} have changed most: {files.before[row][column]:.2f} before, "
        f"{files.after[row][column]:.2f} after."
    )
    columns = ("first", "second", "before", "after", "change")
    rows = tuple(
        (
            names[one],
            names[other],
            f"{files.before[one][other]:.3f}",
            f"{files.after[one][other]:.3f}",
            f"{change[one][other]:+.3f}",
        )
        for _, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))
    )
    table = ResultTable("Correlations, those that changed most first", columns, rows, frozenset(columns[2:]))
    legend = "Blue: above 0; orange: below; the paler, the nearer to 0. A cross: none, as a number does not vary."
    pictures = [
        _matrix("correlations-before", "Correlations in the original", names, files.before, 1.0, table),
        _matrix("correlations-after", "Correlations in the masked file", names, files.after, 1.0, table),
    ]
    if largest >= _TELLING_MOVE:
        title = f"Change, full colour at {largest:.2f}"
        pictures.append(_matrix("correlations-change", title, names, change, largest, table))
    few = listed("", [f"Shown are {note}." for note in files.notes if note.startswith("correlations")])
    pictures[0] = replace(pictures[0], sentence=sentence)
    return [PictureRow(tuple(pictures), legend, large=True), *few]


def _matrix(
    name: str,
    title: str,
    names: tuple[str, ...],
    values: Sequence[tuple[float, ...]],
    strongest: float,
    table: ResultTable,
) -> PagePicture:
    sentence = f"{counted(len(names), 'number')}; each square is the correlation of two of them."
    return PagePicture(name, title, sentence, SquareMatrix(names, tuple(values), strongest), table)


def knowledge_parts(files: SideBySide) -> list[PagePart]:
    """Draw what intruders find who know more and more."""
    if not files.known:
        return []
    most = files.known[-1]
    bars = tuple(
        Bar(
            one.fields[0] if len(one.fields) == 1 else f"the first {len(one.fields)}"
            if one is not most else f"all {len(one.fields)} numbers",
            one.linkage,
            f"{one.linkage:.1f} %",
        )
        for one in files.known
    )  # fmt: skip
    everything = "the number" if len(most.fields) == 1 else f"all {len(most.fields)} numbers"
    rows = tuple((bar.name, ", ".join(one.fields), bar.told) for bar, one in zip(bars, files.known, strict=True))
    return [
        PagePicture(
            "linkage-by-knowledge",
            "What an intruder finds, by what is known",
            f"Who knows {everything} of a respondent finds {most.linkage:.1f} of 100 records; in the unmasked "
            f"file that would be {files.unmasked_linkage:.1f}.",
            Bars(bars, "% of the records nearest to their own original", files.unmasked_linkage),
            ResultTable("Linkage by knowledge", ("known", "fields", "linked"), rows, frozenset({"linked"})),
            "Dashed: the unmasked file. Nearest by standardised Euclidean distance; a better distance can link more.",
        )
    ]


def group_parts(files: SideBySide, k: int | None) -> list[PagePart]:
    """Draw how many records share each combination of values of a block: groups with the same values are one here."""
    pictures = []
    for at, one in enumerate(files.groups):
        sizes = dict(one.sizes)
        if len(sizes) > 1:
            pictures.append(_sizes(one, sizes, at, k))
    rows = tuple(
        (", ".join(one.fields), number(sum(times for _, times in one.sizes)), number(one.sizes[0][0]),
         number(one.sizes[-1][0]))
        for one in files.groups
    )  # fmt: skip
    columns = ("block", "different combinations of values", "smallest", "largest")
    table = ResultTable(
        "Records that share their values, by block, as written", columns, rows, frozenset(columns[1:])
    )
    return [table, *([PictureRow(tuple(pictures))] if pictures else [])]


def _sized(smallest: int, largest: int) -> str:
    """Say how many records share a combination."""
    if smallest == largest:
        return f"of {counted(smallest, 'record')}"
    return f"of {number(smallest)} to {number(largest)} records"


def _sizes(one: GroupSizes, sizes: dict[int, int], at: int, k: int | None) -> PagePicture:
    smallest, largest = min(sizes), max(sizes)
    starts = [
        *range(smallest, smallest + _SINGLE_SIZES),
        *(one for one in _ROUND_SIZES if one >= smallest + _SINGLE_SIZES),
    ]
    starts = [start for start in starts if start <= largest]
    ends = [*(start - 1 for start in starts[1:]), largest]
    counts = tuple(
        float(sum(times for size, times in sizes.items() if start <= size <= end))
        for start, end in zip(starts, ends, strict=True)
    )
    names = tuple(
        f"{start}" if start == end else f"{number(start)} to {number(end)}"
        for start, end in zip(starts, ends, strict=True)
    )
    combinations = sum(sizes.values())
    usual = max(sizes, key=lambda size: sizes[size])
    asked = "" if k is None else f" (k = {k})"
    return PagePicture(
        f"group-sizes-{at}",
        ", ".join(one.fields),
        f"{counted(combinations, 'combination')} of values {_sized(smallest, largest)}{asked}, most often {usual}.",
        ColumnsInOrder(names, counts, "records that share it", "combinations", small=True),
        ResultTable(
            "Combinations of values by their records",
            ("records that share it", "combinations"),
            tuple((name, number(int(count))) for name, count in zip(names, counts, strict=True) if count),
            frozenset({"records that share it", "combinations"}),
        ),
    )
