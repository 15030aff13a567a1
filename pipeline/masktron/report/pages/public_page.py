"""A masked file as a page for whoever gets it: what was done, what holds, and what an analyst must know.

It is made of a `PublicRelease` alone, which has no place for a value of a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from masktron.counts import counted
from masktron.report.pages.common_parts import listed, mathematical, per_cent, said, statements
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, Section
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.result_table import NOTHING, Mark, ResultTable
from masktron.report.text import number
from masktron.report.verdict import NO_RULES_GIVEN
from masktron.results.public_release import (
    PUBLIC_LARGEST_SHARE,
    PUBLIC_LEAST_GROUPS,
    PUBLIC_LEAST_RECORDS,
    SUMMED,
    PublicFate,
    PublicField,
    PublicRelease,
)
from masktron.results.verdict import ReleaseVerdict, Statement, StatementLevel
from masktron.shell_words import shell_word
from masktron.sources.record_layout import column_name

_HOW = {
    "mean": "mean of the group",
    "geometric_mean": "geometric mean of the group",
    "median": "median of the group",
    "mode": "most frequent value of the group",
    "medoid": "values of a member of the group",
    "minimum": "least value of the group",
    "lower_quartile": "lower quartile of the group",
    "upper_quartile": "upper quartile of the group",
    "maximum": "greatest value of the group",
    "convex_median": "median of the group, by a convex rule",
    "boolean_max_min": "logical maximum and minimum of the group",
    "derive": "mean of the group, or computed from the other fields by the rules",
    "derive_per_record": "value of the group, or computed in each record by the rules",
    "drawn": "a value drawn for each record",
    SUMMED: "the sum of masked values of what stands in the record",
}
_DRAWN_HOW = {
    "noise-added": "a value drawn near that of each record",
    "marked-replaced": "a drawn value where the respondent's is beyond the threshold, and else the respondent's own",
    "values-exchanged": "a value of another record",
}
"""What *drawn* means, where it is not a new value for each record."""
_DONE = {
    "identical-groups": "Records that are alike were put into groups of at least {k}, and the records of a group "
    "share one value in the place of their own ones{solved}.",
    "partitioned-synthesis": "Records that are alike were put into groups of at least {k}, and for each record "
    "values were drawn at random from what its group has in common{apart}.",
    "noise-added": "The values of each record were changed by random noise{apart}. A value in this file is near that "
    "of the respondent.",
    "model-drawn": "A model was fitted to the file, and values were drawn from it at random for each record{apart}.",
    "marked-replaced": "Values beyond a threshold were replaced by others, drawn for groups of such records; all "
    "others are those of the respondents{apart}.",
    "values-exchanged": "The values of each field changed places among the records{apart}. A value in this file is "
    "that of some respondent, as a rule of another one, but where the rules asked for a new one.",
}
_FATES = {
    "exact": "the same, of classes",
    "implied": "not any more: it always holds",
    "weakened": "as far as classes tell",
    "vacuous": "of no class any more: in each, some value obeys it",
    "removed": "not any more: it reads a field that this file does not have",
    "lost": "not any more: classes do not tell",
}
"""What became of a rule that reads a recoded or removed field."""
_SAME = (
    "A masked value can still be that of the respondent: by chance, as there are few possible values, as a group had "
    "one value from the start, or as the rules leave no other. In fields of few values or categories most values may "
    "be. That a field is masked does not say that each of its values has changed."
)
"""True of every method: none promises that a value differs from that of the respondent."""
_GROUPS = {
    "identical-groups": "or more records share masked values, {where}",
    "partitioned-synthesis": "or more records in each group that values are drawn for",
}
"""What k promises; the other contracts promise no groups of k."""
_MEAN = {
    "0.01": "within 0.01 SD",
    "0.05": "within 0.05 SD",
    "0.2": "within 0.2 SD",
    "more": "moved by more than 0.2 SD",
}
_SHARES = {
    "1": "at most 1 of 100 moved",
    "5": "at most 5 of 100 moved",
    "20": "at most 20 of 100 moved",
    "more": "more than 20 of 100 moved",
}

_WHY = "Why some figures are coarse or missing"
_MEAN_SAID = "Mean: how far it has moved; SD: standard deviations of the original."
_SHARES_SAID = "Shares: how many of 100 records would have to change category to get the old shares back."
_VARIANCE_SAID = "Variance kept: in this file, divided by that of the original."
_CORRELATIONS_SAID = (
    "Correlations moved: by how much the correlations with the other masked numbers are higher or lower, on average "
    "over those that may be told."
)
_OF_LEVELS = (
    "Figures of a field are of all records of its level, wherever they stand, and correlations are with other fields "
    "of the same level."
)
_EACH_ONCE = "Every record counts once, without weights. A dash: not told, see below."


def public_page(release: PublicRelease) -> Page:
    """Make the page of a release for others."""
    release = _named(release)
    holding = [rule for rule in release.rules if rule.status == "holds"]
    level: StatementLevel = "green" if len(holding) == len(release.rules) else "amber"
    held = f"{number(len(holding))} of {counted(len(release.rules), 'edit rule')} hold in every record."
    of_rules = Statement(level, "rules", held) if release.rules else NO_RULES_GIVEN
    masked = [one for one in release.fields if one.masked]
    return Page(
        title=release.name,
        kind="About this masked file",
        edition="public",
        verdict=statements(ReleaseVerdict(of_rules, release.protection)),
        lead=f"{_size(release)} {counted(len(release.fields), 'field')}, "
        f"{number(len(masked))} of them masked to protect respondents. This page says what was done, and what to "
        f"know when you analyse the file.{_without_figures(release)}",
        sections=(
            Section("done", "What was done", tuple(_done(release))),
            Section("written", "How the file is written", tuple(_written(release))),
            Section("keys", "What was done to keys", tuple(_keys(release))),
            Section("exact", "What is exact", tuple(_exact(release))),
            Section(
                "fields",
                "What masking did to each field",
                (*_variances(masked), *_fields(release, masked), *_missing(release.fields)),
            ),
            Section("analysis", "When you analyse the file", tuple(_advice(release))),
            Section("rules", "Rules that the file obeys", tuple(_rules(release))),
            Section("verified", "How it was verified", tuple(_verified(release))),
            Section("coarse", _WHY if release.told else "What is not told", tuple(said(*_coarse(release)))),
        ),
    )


def _named(release: PublicRelease) -> PublicRelease:
    """Name fields as a table names its columns; the elements of an XML file have the names of the rules."""
    if release.name.lower().endswith(".xml"):
        return release
    return replace(
        release,
        fields=tuple(
            replace(one, name=column_name(one.name), how=column_name(one.how), solved_by=column_name(one.solved_by))
            for one in release.fields
        ),
        removed=tuple(map(column_name, release.removed)),
        numbered=tuple(map(column_name, release.numbered)),
        levels=tuple(replace(one, sorted_by=tuple(map(column_name, one.sorted_by))) for one in release.levels),
        rules=tuple(replace(one, form=column_name(one.form), text=column_name(one.text)) for one in release.rules),
        fates=tuple(replace(one, form=column_name(one.form)) for one in release.fates),
    )


def _size(release: PublicRelease) -> str:
    """Say of how many records the fields are, of a nested file of each level."""
    if not release.levels:
        return f"{counted(release.records, 'record')} of"
    counts = [
        one.kind if one.records is None else f"{counted(one.records, 'record')} of {one.kind}"
        for one in release.levels
    ]
    return f"{', '.join(counts)}, with"


def _without_figures(release: PublicRelease) -> str:
    """Say that no figure of the original is told, and why; nothing where some are, or nothing was masked."""
    if release.told or not any(one.masked for one in release.fields):
        return ""
    if not release.compared:
        why = "this page was made without the original"
    elif release.records < PUBLIC_LEAST_RECORDS:
        of = f" of {release.protected.rpartition('/')[2]}" if release.levels else ""
        why = f"of fewer than {PUBLIC_LEAST_RECORDS} records{of}, they could give somebody away"
    else:
        why = "too few groups, or single ones, decide about them, so that they could give somebody away"
    return (
        " No figure of the original is given, not even a coarse one: " + why + ". So it does not say how far means, "
        "shares, variances and correlations have moved."
    )


def _done(release: PublicRelease) -> list[PagePart]:
    masked = [one for one in release.fields if one.masked]
    facts = [
        *_counts(release),
        Fact("masked fields", f"{number(len(masked))} of {number(len(release.fields))}"),
        *([Fact("method", release.method)] if masked else []),
    ]
    grouped = release.contract in _GROUPS and bool(masked)
    if grouped:
        alike = release.whole_records and not any(one.solved_by for one in release.fields)
        where = "in all masked fields" if alike else "block by block"
        facts.append(Fact("k", number(release.k), _GROUPS[release.contract].format(where=where)))
    unit = release.levels[0].kind if release.levels else ""
    together = ""
    if grouped:
        together = (
            "All masked fields were masked in one go, so that groups are the same in all of them."
            if release.whole_records
            else "Fields that rules tie together were masked together, block by block; groups differ from block to "
            "block."
        )
    order = f"The records{f' of {unit}' if unit else ''} stand in random order." if release.random_order else ""
    removed = f"Left out, as they name respondents: {', '.join(release.removed)}." if release.removed else ""
    numbered = f"{', '.join(release.numbered)}: new numbers, which join the tables." if release.numbered else ""
    return [
        FactRow(tuple(facts)),
        *said(
            *_nested(release),
            _how(release, masked) if masked else "",
            _SAME if masked else "",
            f"The method promises: {release.promise}.",
            " ".join(filter(None, (together, order, _left_out(release)))),
            " ".join(filter(None, (removed, numbered))),
        ),
    ]


def _left_out(release: PublicRelease) -> str:
    """Say how many records, and how much weight, the totals of this file lack."""
    if not release.left_out:
        return ""
    rare = f", or that fewer than {release.k} were composed like," if release.rare_left_out else ""
    share = f" They had {release.missing_weight} % of the survey weight." if release.missing_weight else ""
    were = "was" if release.left_out == 1 else "were"
    spread = next((one.reweighted for one in release.fields if one.reweighted), ())
    lacking = "Totals and counts of this file lack them" + (
        f"; weighted counts by {', '.join(spread)} do not." if spread else ", also with the weight."
    )
    return f"{counted(release.left_out, 'record')} that broke a rule{rare} {were} left out.{share} {lacking}"


_FOUND = {"encoding": "utf-8", "quote": '"', "decimal": "point"}
"""What masktron takes a file to have where nobody says otherwise; it finds the delimiter."""


def _written(release: PublicRelease) -> list[PagePart]:
    """Say how a file is written that does not tell it itself, and what masktron has to be told of it."""
    if not release.written_as:
        return []
    needed = {
        name: own for name, own in release.written_as.items() if name != "delimiter" and _FOUND.get(name) != own
    }
    options = " ".join(f"--format-option {shell_word(f'{name}={own}')}" for name, own in needed.items())
    return [
        ResultTable("How the cells are written", ("what", "here"), tuple(release.written_as.items())),
        *said(
            f"masktron reads it with {options}; or write these lines under [format_options] in masktron.toml, with "
            "the values in quotation marks."
            if needed
            else "masktron reads it without being told."
        ),
    ]


def _counts(release: PublicRelease) -> list[Fact]:
    """Say how many records there are, in facts."""
    if not release.levels:
        return [Fact("records", number(release.records))]
    return [Fact(f"records of {one.kind}", number(one.records)) for one in release.levels if one.records is not None]


def _nested(release: PublicRelease) -> list[str]:
    """Say what a record of a nested file is, and how what stands in it was put side by side."""
    if not release.levels:
        return []
    top, kind = release.levels[0].kind, release.protected.rpartition("/")[2]
    inner = [one for one in release.levels if one.name.startswith(f"{release.protected}/")]
    within = f" with all that stands in it ({', '.join(one.kind for one in inner)})" if inner else ""
    what = f"Where this page speaks of records without saying of which level, a record is one {kind}{within}."
    if kind != top:
        return [
            what,
            f"Each {kind} was masked by itself: whoever recognises one of them in a {top} knows the others of that "
            f"{top}, since they stand together.",
        ]
    orders = [
        f"each {one.kind} by {', '.join(one.sorted_by)}" if one.sorted_by else f"each {one.kind} as the file has them"
        for one in inner
    ]
    return [
        what,
        f"Groups are of {top} records that have as many records of each other level in them. Within a group, what "
        f"stands in one {top} was put side by side with what stands in the others: {'; '.join(orders)}."
        if orders
        else "",
    ]


def _how(release: PublicRelease, masked: list[PublicField]) -> str:
    """Say how the values came about: those that the method drew, and those of groups."""
    own = [one for one in masked if one.how != SUMMED]
    grouped = [one.name for one in own if one.how != "drawn" and not (one.solved_by and one.solved_everywhere)]
    solved = [one.name for one in own if one.solved_by and one.solved_everywhere]
    partly = [one.name for one in own if one.solved_by and not one.solved_everywhere]
    summed = [one.name for one in masked if one.how == SUMMED]
    computed = [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {how}"
        for names, how in (
            (solved, "computed in each record by the rules"),
            (partly, "computed by the rules in some records"),
            (summed, _HOW[SUMMED]),
        )
        if names
    ]
    shared = f"in {', '.join(grouped)}, the records of a group share one value"
    apart = [*([shared] if grouped else []), *computed]
    return _DONE[release.contract].format(
        k=release.k,
        solved="".join(f"; {one}" for one in computed),
        apart="".join(f"; {one}" for one in apart),
    )


def _keys(release: PublicRelease) -> list[PagePart]:
    """Say which fields are written in classes or left out in part, and what became of the rules that read them."""
    treated = [one for one in release.fields if one.recoded or one.suppressed]
    if not treated:
        return []
    of = {one.name: one.records or 0 for one in release.levels} | {"": release.records}
    rows = tuple(
        (
            one.name,
            one.recoded or NOTHING,
            NOTHING if not one.suppressed else "left out where keys were rare",
            NOTHING if one.missing is None else f"{number(one.missing)} ({per_cent(one.missing, of[one.level])})",
        )
        for one in treated
    )
    columns = ("field", "written as", "cells", "missing in this file")
    gone = [one.name for one in treated if one.suppressed]
    return [
        ResultTable("Keys: fields that others may know of a respondent", columns, rows, frozenset({columns[3]})),
        *said(
            release.shared_keys,
            f"A missing value of {', '.join(gone)} was not stated, or was left out: the file does not say which. "
            "Those left out are rare ones, so that the others are no random sample."
            if gone
            else "",
        ),
        *_classes(treated),
        *_became(release.fates),
    ]


def _classes(treated: list[PublicField]) -> list[PagePart]:
    """Say what the labels of hierarchies stand for."""
    rows = tuple((one.name, own.label, own.values) for one in treated for own in one.classes)
    title = "Classes: what each label stands for, whether or not a record has such a value"
    return [ResultTable(title, ("field", "written", "stands for"), rows)]


def _became(fates: tuple[PublicFate, ...]) -> list[PagePart]:
    rows = tuple((one.id, _FATES.get(one.fate, one.fate), mathematical(one.form) or NOTHING) for one in fates)
    title = "Rules that read recoded or removed fields: what is asked of this file"
    return [ResultTable(title, ("rule", "asked", "as"), rows)]


def _exact(release: PublicRelease) -> list[PagePart]:
    kept = [one.name for one in release.fields if not (one.masked or one.treated)]
    left_out = [one.name for one in release.fields if one.suppressed]
    in_all = "the same way in every record" if not left_out else "the same way wherever they are written"
    recoded = [f"{one.name} ({one.recoded})" for one in release.fields if one.recoded]
    untrue = [f"{one.name} ({one.untrue})" for one in release.fields if one.untrue]
    weights = [one for one in release.fields if one.weight]
    joined = ", ".join(one.kind for one in release.levels[1:])
    rules = [rule.id for rule in release.rules if rule.status == "holds" and not rule.soft]
    items = [
        f"In which {release.levels[0].kind} each record of another level ({joined}) stands, how many there are and "
        "in which order: as it was."
        if joined
        else "",
        f"Written as they were, in every record: {', '.join(kept)}." if kept else "",
        f"Recoded, {in_all}: {', '.join(recoded)}; the rules ask of them what is left to ask." if recoded else "",
        f"Not true in some records, as far as the rules admit it: {'; '.join(untrue)}." if untrue else "",
        f"Left out in records where the keys were rare, else written: {', '.join(left_out)}." if left_out else "",
        *(f"{one.name} is the survey weight{_whose(one)}, {_of_weight(one, release)}." for one in weights),
        f"{counted(len(rules), 'hard rule')} hold in every record: sums add up, ranges and conditions are kept."
        if rules
        else "",
        *_means(release, weighted=bool(weights)),
    ]
    return listed("", [item for item in items if item])


def _means(release: PublicRelease, *, weighted: bool) -> list[str]:
    """Say of which fields the file has the means of the original values, level by level."""
    whose = [(one.name, f"the records of {one.kind}", bool(one.weight)) for one in release.levels]
    found = []
    for level, records, own in whose or [("", "the records of this file", weighted)]:
        if means := [one.name for one in release.fields if one.keeps_mean and one.level == level]:
            found.append(
                f"Over {records}, the {'weighted ' if own else ''}means and totals of {', '.join(means)} are those "
                "of the original values but for rounding."
            )
    return found


def _whose(one: PublicField) -> str:
    return f" of {one.level.rpartition('/')[2]}" if one.level else ""


def _of_weight(one: PublicField, release: PublicRelease) -> str:
    if one.reweighted:
        within = ", ".join(one.reweighted)
        return f"raised: the weights of records left out went to those of the same {within}, where they add up again"
    if not one.recoded:
        lacking = ", so it does not add up to the population: records were left out" if release.left_out else ""
        return f"unchanged{lacking}"
    return f"recoded ({one.recoded}): records of one class have the same weight, which is not that of each of them"


def _variances(masked: list[PublicField]) -> list[PagePart]:
    told = sorted((one for one in masked if one.variance is not None), key=_kept)
    if not told:
        return []
    least = told[0]
    shrunk = sum(_kept(one) < 0.995 for one in told)
    return [
        PagePicture(
            "variance-kept",
            "How much of the variance is left",
            f"{least.name} has kept least: {least.variance} of its variance. "
            f"{counted(shrunk, 'field')} of {number(len(told))} {'has' if shrunk == 1 else 'have'} lost some.",
            Bars(
                tuple(Bar(one.name, _kept(one), str(one.variance)) for one in told),
                "variance in this file divided by that of the original",
                1.0,
            ),
            ResultTable(
                "Variance kept",
                ("field", "variance kept"),
                tuple((one.name, str(one.variance)) for one in told),
                frozenset({"variance kept"}),
            ),
            "Dashed: nothing lost.",
        )
    ]


def _kept(one: PublicField) -> float:
    return one.variance.value if one.variance is not None else 0.0


def _fields(release: PublicRelease, masked: list[PublicField]) -> list[PagePart]:
    if not masked:
        return []
    shown = [
        (column, words, values)
        for column, words, values in (
            ("mean", _MEAN_SAID, [_MEAN[one.mean] if one.mean else NOTHING for one in masked]),
            ("shares", _SHARES_SAID, [_SHARES[one.shares] if one.shares else NOTHING for one in masked]),
            ("variance kept", _VARIANCE_SAID, [str(one.variance or NOTHING) for one in masked]),
            ("correlations moved", _CORRELATIONS_SAID, [str(one.correlations or NOTHING) for one in masked]),
        )
        if {*values} != {NOTHING}
    ]
    leveled = ("level",) if release.levels else ()
    rows = tuple(
        (
            one.name,
            *((one.level.rpartition("/")[2],) if leveled else ()),
            ", ".join(map(str, (one.block, *one.more_blocks))) if one.block is not None else NOTHING,
            _in_its_place(one, release.contract),
            *(values[at] for _, _, values in shown),
        )
        for at, one in enumerate(masked)
    )
    columns = ("field", *leveled, "block", "what stands in its place", *(column for column, _, _ in shown))
    numbers = {"block", "variance kept", "correlations moved"} & {*columns}
    return [
        ResultTable("Masked fields", columns, rows, frozenset(numbers)),
        *said(" ".join([*(words for _, words, _ in shown), _EACH_ONCE]) if shown else ""),
        *said(_OF_LEVELS if shown and leveled else ""),
    ]


def _in_its_place(one: PublicField, contract: str) -> str:
    if one.how == SUMMED:
        return f"{_HOW[SUMMED]}, by the rule {one.solved_by}"
    if one.solved_by and one.solved_everywhere:
        return f"computed in each record by the rule {one.solved_by}"
    ways = [
        _DRAWN_HOW[contract] if how == "drawn" and contract in _DRAWN_HOW else _HOW.get(how, how)
        for how in one.how.split(", ")
    ]
    if one.solved_by:
        ways.append(f"computed in the record by the rule {one.solved_by}")
    return "; or ".join(ways)


def _missing(fields: Iterable[PublicField]) -> list[PagePart]:
    """Say what means missing in the released file, and how often: whoever averages 9998 needs to know."""
    rows = tuple((one.name, number(one.missing), ", ".join(one.codes) or NOTHING) for one in fields if one.missing)
    columns = ("field", "values missing in this file", "codes that mean missing")
    return [ResultTable("Missing values", columns, rows, frozenset({columns[1]}))]


def _advice(release: PublicRelease) -> list[PagePart]:
    """Say what to do with what the tables tell; nothing about figures that are left out."""
    drawn = release.contract != "identical-groups"
    masked = [one for one in release.fields if one.masked]
    moved = any(one.mean is not None or one.shares is not None for one in masked)
    below = [f"{one.name} in {counted(one.below_zero, 'record')}{_whose(one)}" for one in masked if one.below_zero]
    return listed(
        "",
        [
            *(
                [
                    "Means, totals and frequencies suffer least; the table says how far they moved, where that may "
                    "be told."
                ]
                if moved and not release.moved_totals
                else []
            ),
            *(
                [
                    f"Do not take totals or means of {', '.join(release.moved_totals)} from this file: masking "
                    "moved them."
                ]
                if release.moved_totals
                else []
            ),
            *(
                [
                    f"Do not compare {', '.join(release.unexplained)} between categories of the unmasked fields: "
                    "masking did not keep these differences."
                ]
                if release.unexplained
                else []
            ),
            *(
                [
                    "Where a variance has shrunk, standard errors that you compute from this file are too small: "
                    "divide a variance by the share that is kept, where the table has it."
                ]
                if any(one.variance is not None for one in masked)
                else []
            ),
            *(
                [
                    "Correlations and regressions of masked fields are off, most where a field has lost much of its "
                    "variance; the table says by how much, where that may be told."
                ]
                if any(one.correlations is not None for one in masked)
                else []
            ),
            *(
                [f"Values are below 0 in this file: {', '.join(below)}. Where a field cannot be, masking made them."]
                if below
                else []
            ),
            *_of_missing(release, masked),
            "Do not take least and greatest values, extreme quantiles or single records for those of respondents.",
            "Relations that no rule below states, and small subgroups, may be lost.",
            "Masked values were drawn at random: other draws would give somewhat other results."
            if drawn
            else "Records with the same values may be a group of the method: do not take them for respondents who "
            "said the same.",
        ],
    )


def _of_missing(release: PublicRelease, masked: list[PublicField]) -> list[str]:
    """Say where values that are missing, or stated, may not be what respondents answered: by settings and this file.

    Which fields had missing values before is not told: those that took over a pattern are fewer than k in a group.
    """
    blank = [one.name for one in masked if one.missing]
    rare = [one.name for one in release.fields if one.suppressed]
    found = []
    if masked and release.takes_over and release.contract != "values-exchanged":
        also = f", and stated values may be missing ({', '.join(blank)})" if blank else ""
        found.append(
            "Where few records missed the same masked fields, missing values may have been replaced by masked ones"
            f"{also}: this file does not say where. So it does not tell who left a masked field out."
        )
    if rare:
        found.append(
            f"Values of {', '.join(rare)} may have been left out where keys were rare: what is missing there is no "
            "sign that a respondent did not answer."
        )
    return found


def _rules(release: PublicRelease) -> list[PagePart]:
    status = {
        "holds": Mark("holds", "good"),
        "not tested": Mark("not tested by this file", "quiet"),
        "let go": Mark("may be broken", "bad"),
        "not applicable": Mark("reads fields that were left out", "quiet"),
    }
    rows = tuple(
        (
            rule.id + (" (soft)" if rule.soft else ""),
            rule.kind,
            status[rule.status],
            mathematical(rule.form) if rule.form else NOTHING,
            rule.text or NOTHING,
        )
        for rule in release.rules
    )
    columns = ("rule", "class", "in this file", "in mathematics", "in words, where it is broken")
    return [ResultTable(f"Rules of {release.rulebook}", columns, rows)]


def _verified(release: PublicRelease) -> list[PagePart]:
    engines = tuple((one.name, number(one.rules), number(one.records)) for one in release.engines)
    rulebook = [(release.rulebook, release.rules_checksum)] if release.rules else []
    files = (*_checksums(release), *rulebook)
    judged = [
        *said(
            "The file was written, read back, and judged by each of these programs before it was released. The "
            "number of rules and of records is what each of them judged."
        ),
        ResultTable("Judged by", ("program", "rules", "records"), engines, frozenset({"rules", "records"})),
    ]
    return [
        *(judged if engines else said("The file was written and read back before it was released.")),
        ResultTable("Checksums", ("file", "SHA-256"), files),
        ResultTable("Versions", ("package", "version"), tuple(release.versions.items())),
    ]


def _checksums(release: PublicRelease) -> list[tuple[str, str]]:
    """Return the checksum of the file; of several tables, of each, and of all of them together."""
    tables = [one for one in release.levels if one.table]
    if not tables:
        return [(release.name, release.checksum)]
    top = release.levels[0].kind
    together = f"all tables: of a line for each ({', '.join([top, *(one.kind for one in tables)])}), name and SHA-256"
    own = [(release.name, release.own_checksum)] if release.own_checksum else []
    return [*own, *((one.table, one.checksum) for one in tables), (together, release.checksum)]


def _coarse(release: PublicRelease) -> list[str]:
    rounded = (
        "Figures of the original are rounded to two decimals or told as a bound. With more digits of a small file, "
        "whoever has the program, the rules and this file could solve them for values of respondents."
    )
    left_out = (
        f"A figure is left out where fewer than {PUBLIC_LEAST_RECORDS} records or {PUBLIC_LEAST_GROUPS} groups are "
        f"behind it, or where a single one decides about more than {PUBLIC_LARGEST_SHARE * 100:.0f} % of it and more "
        "than rounding hides: it would tell of that one. So is one from which whoever knows all other records "
        "could solve a value to less than a tenth of a standard deviation, or a twentieth of itself. "
        "Each pair of fields behind an average of correlations is "
        "held to this. Records that this file shows alike in a block, or in all masked fields where these were "
        "masked in one go, count as one group."
    )
    return [
        *([rounded] if release.told else []),
        *([left_out] if release.compared else []),
        *([_levels_left_out(release)] if release.compared and len(release.levels) > 1 else []),
        "No checksum of the original is given, as a guess of it could be tested with that. Least and greatest "
        "values of the original are given nowhere.",
    ]


def _levels_left_out(release: PublicRelease) -> str:
    """Say who counts as one where records of a level stand in one that was masked as a whole."""
    kind = release.protected.rpartition("/")[2]
    return (
        f"All records of a level that stand in one {kind} count as one there, and those of a group of {kind} records "
        "as one group, at all positions and position by position."
    )
