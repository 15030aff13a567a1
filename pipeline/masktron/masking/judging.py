"""The rules beside the records to mask: which disjuncts these satisfy, and the engines that judge new values.

Many records at once are judged over columns where the rules can be; what columns leave open goes to the engine.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.classify import Edit
from masktron.classify.forms import form_of, satisfied
from masktron.constraints import Form, InDomain
from masktron.judge import EngineChoice, Original, Reads, RecordJudge, Verdict, domain_values, reads_of
from masktron.kernels.distinct import factorized
from masktron.kernels.mdav import TREE_FROM
from masktron.masking.file_values import FileValues
from masktron.plan import Block, Plan
from masktron.rulebook.schema import Rulebook
from masktron.settle.decimals import Spelled
from masktron.settle.lattice import Lexemes
from masktron.settle.prototypes import MAX_ROWS
from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.lexical import is_misread, reads_alike
from masktron.sources.xml.microdata import chunk_document

if TYPE_CHECKING:
    from masktron.judge import CompiledColumns


@dataclass(frozen=True, slots=True, eq=False)
class RecordRules:
    """What the rules ask of the records to mask.

    Attributes
    ----------
    file : FileValues
    rulebook : Rulebook
    edits : mapping of int to Edit
        By the index of the check.
    over_file : tuple of int
        Rules over several records that read a masked field.
    domains : mapping of InDomain to frozenset of str
        Texts that the original holds where a rule asks for a value of it.
    original : Path
        What ``document()`` in the rules means; numbers outside the records are read from it.
    """

    file: FileValues
    rulebook: Rulebook
    edits: Mapping[int, Edit]
    over_file: tuple[int, ...]
    domains: Mapping[InDomain, frozenset[str]]
    original: Path
    _document: Original
    _satisfied: dict[Form, NDArray[np.bool_]] = field(default_factory=dict, init=False, repr=False)
    _engines: dict[EngineChoice, RecordJudge] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, file: FileValues, plan: Plan, edits: Sequence[Edit], rulebook: Rulebook, original: Path
    ) -> RecordRules:
        """Collect what the rules ask."""
        return cls(
            file=file,
            rulebook=rulebook,
            edits={edit.check.index: edit for edit in edits},
            over_file=tuple(index for index, _ in plan.over_file),
            domains=domain_values([form_of(edit.constraint) for edit in edits], rulebook, original),
            original=original,
            _document=Original(original, known=True),  # the records were read from it
        )

    def part(self, records: NDArray[np.intp], fields: frozenset[str] | None = None) -> RecordRules:
        """Return the same for some of the records, in ascending order, and some of their fields; all by default."""
        return replace(self, file=self.file.part(records, fields))

    def forms(self, block: Block) -> list[Form]:
        """Return the forms of the rules of a block."""
        return [form_of(self.edits[check].constraint) for check in block.checks]

    def engine(self, checks: tuple[int, ...], choice: EngineChoice) -> RecordJudge:
        """Return what judges some checks; kept until others are asked for, as all candidates of a block need it."""
        if any(engine.checks != frozenset(checks) for engine in self._engines.values()):
            self._engines.clear()
        if choice not in self._engines:
            self._engines[choice] = RecordJudge(
                self.rulebook, self.file.layout, checks=checks, original=self._document, engine=choice
            )
        return self._engines[choice]

    def satisfied_by(self, form: Form) -> NDArray[np.bool_]:
        """Which disjuncts each record satisfies, shape (n, disjuncts); found once, for groups and for prototypes."""
        if form not in self._satisfied:
            file = self.file
            self._satisfied[form] = held_disjuncts(form, file.n, file.seen, file.texts, self.domains)
        return self._satisfied[form]


def held_disjuncts(
    form: Form,
    count: int,
    numbers: FloatColumns,
    texts: Mapping[str, NDArray[np.object_]],
    domains: Mapping[InDomain, frozenset[str]],
) -> NDArray[np.bool_]:
    """Tell which disjuncts of a form some records satisfy, given their fields; shape (count, disjuncts)."""
    holding = np.ones((count, len(form)), dtype=np.bool_)
    for position, conjunction in enumerate(form):
        for atom in conjunction:
            holding[:, position] &= satisfied(atom, numbers, texts, domains=domains)
    return holding


MANY = 2_000
"""Records from which columns are worth their preparation."""
PART = 50_000
"""Records of which columns are made at a time."""

_OTHERS: tuple[EngineChoice, ...] = ("auto", "saxon")
"""What has to accept a prototype beside libxml2 as it is."""

type Written = Spelled | NDArray[np.object_] | str | None
"""The lexemes of a field: of each record, or the same in all."""


class Judging:
    """Judges records of a block."""

    def __init__(self, rules: RecordRules, block: Block) -> None:
        self._rules = rules
        self._block = block
        self._own = list(block.checks)
        self._alike = functools.cache(_is_read_alike)

    def __call__(self, rows: Sequence[Lexemes]) -> NDArray[np.bool_]:
        """Judge records given as lexemes by field name; shape (rows,)."""
        if not self._own:
            return np.ones(len(rows), dtype=np.bool_)
        if not self._first:
            return self._accepted("auto", rows)
        # the standard and both engines have to accept a prototype; they differ in how they read and write numbers
        fine = self._accepted("unaided", rows)
        fields = (*self._block.variables, *self._block.conditions)
        unlike = [
            at
            for at in np.flatnonzero(fine).tolist()
            if self._writes_numbers or not all(self._alike(rows[at][name] or "") for name in fields)
        ]
        for choice in _OTHERS:
            if unlike:
                fine[unlike] = self._accepted(choice, [rows[at] for at in unlike])
                unlike = [at for at in unlike if fine[at]]
        return fine

    @functools.cached_property
    def _first(self) -> bool:
        """Whether a rule of the block is in XPath 1.0."""
        versions = self._rules.rulebook.versions
        return any(versions[check] == "1.0" for check in self._own)

    @functools.cached_property
    def _writes_numbers(self) -> bool:
        """Whether engines may differ on a rule of XPath 1.0, whatever numbers its fields have."""
        reads = reads_of(self._rules.rulebook)
        return any(reads[check] is Reads.MORE for check in self._own)

    def many(self, made: Mapping[str, Written], records: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge records of the file with new lexemes in some fields.

        Parameters
        ----------
        made : mapping of field name to Written
            At least of all variables of the block.
        records : ndarray of intp, shape (rows,)
            Whose other fields they have.

        Returns
        -------
        ndarray of bool, shape (rows,)
        """
        if not self._own:
            return np.ones(len(records), dtype=np.bool_)
        parts = [np.empty(0, dtype=np.bool_)]
        for start in range(0, len(records), PART):
            which = np.arange(start, min(start + PART, len(records)))
            parts.append(self._part({name: taken(own, which) for name, own in made.items()}, records[which]))
        return np.concatenate(parts)

    def _part(self, made: Mapping[str, Written], records: NDArray[np.intp]) -> NDArray[np.bool_]:
        program = self._program if self._rules.file.n >= TREE_FROM and len(records) >= MANY else None
        if program is None:
            return self._slowly(made, records)
        used = frozenset().union(*(program.reads(check) for check in self._own))
        outcome = program.evaluate(self._batch(made, records, used))
        fine = (outcome.failed[:, self._own] == 0).all(axis=1)
        open_ = outcome.unsure[:, self._own].any(axis=1)
        if self._first:
            open_ |= fine & ~self._read_alike(made, records) if not self._writes_numbers else fine
        left = np.flatnonzero(fine & open_)
        fine[left] = self._slowly({name: taken(own, left) for name, own in made.items()}, records[left])
        return np.asarray(fine)

    @functools.cached_property
    def _program(self) -> CompiledColumns | None:
        """The rules over columns; None where an engine has to see every record."""
        from masktron.judge import Tier, compile_program, tiers_inside  # noqa: PLC0415 -- only many records need it

        rules = self._rules
        outside = frozenset(f"@{name}" for name, _ in rules.file.layout.root_attributes)
        tiers = tiers_inside(rules.rulebook, rules.file.layout, outside)
        if any(tiers[check].tier is not Tier.COLUMNS for check in self._own):
            return None
        return compile_program(rules.rulebook, rules.file.layout, self._own)[0]  # and no rule of another block

    def _slowly(self, made: Mapping[str, Written], records: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Let the engine judge each record."""
        texts = {name: _texts(own, len(records)) for name, own in made.items()}
        for name, column in self._rules.file.columns.items():
            if name not in texts:
                texts[name] = column.lexemes_of(records).tolist()
        parts = [np.empty(0, dtype=np.bool_)]
        for start in range(0, len(records), MAX_ROWS):
            rows = [
                {name: own[at] for name, own in texts.items()}
                for at in range(start, min(start + MAX_ROWS, len(records)))
            ]
            parts.append(self(rows))
        return np.concatenate(parts)

    def _accepted(self, choice: EngineChoice, rows: Sequence[Lexemes]) -> NDArray[np.bool_]:
        rules = self._rules
        verdicts = rules.engine(self._block.checks, choice).verdicts(chunk_document(rules.file.layout, rows))
        return np.asarray((verdicts[:, self._own] < Verdict.FAILS).all(axis=1))

    def _read_alike(self, made: Mapping[str, Written], records: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell in which records every engine reads the same numbers from the fields of the block."""
        fine = np.ones(len(records), dtype=np.bool_)
        for name in (*self._block.variables, *self._block.conditions):
            own = made[name] if name in made else self._rules.file.columns[name].lexemes_of(records)
            if isinstance(own, Spelled):
                fine &= own.alike
            elif own is None or isinstance(own, str):
                fine &= self._alike(own or "")
            else:
                codes, distinct = factorized(own)
                # the code of a field that is not there is -1, which takes the last entry
                fine &= np.array([*map(self._alike, distinct.tolist()), True])[codes]
        return fine

    def _batch(self, made: Mapping[str, Written], records: NDArray[np.intp], used: frozenset[int]) -> Batch:
        """Put lexemes side by side as the columns of a file; fields that no rule reads are absent."""
        parts: list[NDArray[np.uint8]] = []
        cells: list[Cells] = []
        base = 0
        for position, each in enumerate(self._rules.file.layout.fields):
            own = None
            if position in used:
                own = (
                    made[each.name] if each.name in made else self._rules.file.columns[each.name].lexemes_of(records)
                )
            octets, placed = _cells(own, len(records), base)
            parts.append(octets)
            cells.append(placed)
            base += len(octets)
        nothing = np.zeros(len(records), dtype=np.int64)
        plain = np.zeros(len(records), dtype=np.bool_)
        return Batch(
            self._rules.file.layout,
            "utf-8",
            np.concatenate(parts),
            0,
            0,
            nothing,
            nothing,
            nothing,
            plain,
            tuple(cells),
        )


def _is_read_alike(lexeme: str) -> bool:
    """Tell whether every engine of XPath 1.0 and the standard read the same number from a text."""
    return reads_alike(lexeme) and not is_misread(lexeme)


def _cells(own: Written, count: int, base: int) -> tuple[NDArray[np.uint8], Cells]:
    """Return the bytes of a field, and where each cell stands in them when they begin at `base`."""
    if isinstance(own, Spelled):
        starts = base + np.arange(count, dtype=np.int64) * own.octets.shape[1]
        status = np.full(count, Cell.TEXT, dtype=np.uint8)
        return own.octets.ravel(), Cells(starts, starts + own.lengths, status)
    codes, distinct = _numbered(own, count)
    encoded = [*map(str.encode, distinct), b""]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    starts = base + np.cumsum(lengths) - lengths
    kinds = np.where(lengths > 0, Cell.TEXT, Cell.EMPTY).astype(np.uint8)
    kinds[-1] = Cell.ABSENT
    octets = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return octets, Cells(starts[codes], (starts + lengths)[codes], kinds[codes])


def _numbered(own: NDArray[np.object_] | str | None, count: int) -> tuple[NDArray[np.intp], list[str]]:
    """Return the distinct lexemes of a field and which of them each record has, -1 where it has none."""
    if isinstance(own, np.ndarray):
        codes, distinct = factorized(own)
        return codes, list(distinct.tolist())
    return (np.full(count, -1), []) if own is None else (np.zeros(count, dtype=np.intp), [own])


def taken(own: Written, which: NDArray[np.intp]) -> Written:
    """Return the lexemes of some records."""
    if isinstance(own, Spelled):
        return own.take(which)
    return own if own is None or isinstance(own, str) else own[which]


def _texts(own: Written, count: int) -> list[str | None]:
    if isinstance(own, Spelled):
        return list(own.texts().tolist())
    return [own] * count if own is None or isinstance(own, str) else list(own.tolist())
