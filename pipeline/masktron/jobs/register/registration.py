"""A release and the register of releases: what has been released before, and the entry of what is being released."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.addresses import AddressPath
from masktron.config import Config
from masktron.errors import MasktronError, ReleasedBeforeError, UsageError
from masktron.jobs.register.register_file import opened_register
from masktron.jobs.run import Run
from masktron.jobs.written import WrittenFile
from masktron.problems.problem import Note, Sentence, Setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import Register
from masktron.sources.record_hashes import HashSample, RecordHashes
from masktron.versions import versions

MOST = 0.5
"""Share of the records of the smaller of two originals from which on they are taken for the same ones."""
WHOLE = 8192
"""Hashes of whole records that an entry has at most."""
WITHOUT = 512
"""Hashes of records without one field that an entry has at most, for each field."""
AT_ONCE = 16_384
"""Records that are hashed for a comparison, unless the entry has too few."""
ENOUGH = 32
"""Records of an entry that a comparison is made with, where it has so many."""


@dataclass(frozen=True, slots=True)
class Alike:
    """A release of the same records.

    Attributes
    ----------
    entry : mapping
        As the register has it.
    share : float
        Of the records of the smaller original, those that the other one has as well.
    same_file : bool
        The original is that very file, and of it the same table.
    apart : str
        In what they are not alike, as "the field A"; empty where they are alike in all fields.
    published : bool
        Its file was seen to appear.
    together : bool
        It is one of several releases that have most records of this file together; `share` is theirs.
    """

    entry: Mapping[str, Any]
    share: float
    same_file: bool
    apart: str
    published: bool = False
    together: bool = False

    def __str__(self) -> str:
        one = self.entry
        share = 100 if self.share == 1 else min(99, round(100 * self.share))
        apart = f" (apart from {self.apart})" if self.apart else ""
        if self.together:
            which = f"one of several originals that share {share} % of the records of this together"
        elif self.same_file:
            which = "this original"
        else:
            which = f"an original that shares {share} % of its records{apart} with this"
        ended = "" if self.published else "; that run was ended before it saw the file appear"
        made = f"{one['output']['name']}, {one['method']}, k = {one['k']}"
        return f"{which} was released on {one['at'][:10]} ({made}{ended})"


class Registration:
    """What a run has to do with the register.

    Parameters
    ----------
    register : Register or None
        Nothing is looked up or entered where there is none.
    again : str or None
        Why records that have been released before are released again.
    out : Path
    """

    def __init__(self, register: Register | None, again: str | None, out: Path) -> None:
        self._register, self._again, self._out = register, again, out
        self._records: _Records | None = None
        self._found: dict[str, Alike | None] = {}
        self._id: str | None = None

    @property
    def _known(self) -> _Records:
        if self._records is None:
            raise RuntimeError("records are looked up before they are entered")
        return self._records

    def look_up(self, run: Run, progress: Progress = no_progress) -> None:
        """Refuse records that have been released, before anything is computed.

        A run that may repeat a release to the byte is let go on: with a secret, or where nothing is random.

        Raises
        ------
        ReleasedBeforeError
        DocumentError, UsageError
            The register cannot be used.
        """
        if self._register is None:
            return
        progress("looking up the records in the register of releases", 0)
        with opened_register(self._register) as book:
            secret, entries = book.secret, list(book.entries)
        self._records = _Records.of(run, secret)
        alike = self._alike(entries)
        repeats = run.randomness.secret is None or run.config.secret is not None or run.config.seed is not None
        if alike and self._again is None and not repeats:
            raise _refusal(alike, run)

    def enter(self, run: Run, written: WrittenFile) -> tuple[dict[str, Any] | None, tuple[Sentence, ...]]:
        """Add the entry of a release that is about to appear, unless its records have been released before.

        Returns
        -------
        dict or None
            What the manifest says of it; None without a register.
        notes : tuple of str

        Raises
        ------
        ReleasedBeforeError
            Also where another run has released them meanwhile.
        DocumentError, UsageError
            The register cannot be used.
        """
        if self._register is None:
            return None, ()
        digest, own = written.source.digest, secrets.token_hex(8)
        entry = {
            "kind": "release",
            "id": own,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": versions()["masktron"],
            "output": {"name": self._out.name, "sha256": digest},
            "method": run.method.name,
            "k": run.config.k,
            **self._known.sketches,
        }
        with opened_register(self._register) as book:
            alike = self._alike(book.entries)
            others = _other_releases(alike, digest)
            if others and self._again is None:
                raise _refusal(others, run)
            torn, same = book.torn, {"again": self._again, "alike": [one.entry["id"] for one in alike]}
            book.add({**entry, **same})
        self._id, path = own, self._register.path.as_posix()
        notes: list[Sentence] = [f"this release is entry {own} of the register {path}"]
        if others:
            notes += [
                Note(
                    "released again: {before}; masktron assess with [[--against]] for each earlier release says how "
                    "many values they give away together",
                    before=_named(others),
                )
            ]
        elif alike:
            notes += ["this repeats an earlier release to the byte, which tells nothing new"]
        elif self._again is not None:
            notes += ["a reason to release the records again was given, and the register has no release of them"]
        if torn:
            notes += [
                f"a last line of the register that had been cut off ({torn} bytes) was taken out; it never counted, "
                "as the run that began it was ended before its file appeared"
            ]
        return {"path": path, "id": own, **same}, tuple(notes)

    def confirm(self) -> tuple[Sentence, ...]:
        """Add that the file was seen to appear; where that cannot be done, return a note that says so."""
        try:
            self._add("published")
        except MasktronError as error:
            cannot = "the register could not be told that the file appeared; it counts it anyway: {problem}"
            return (Note(cannot, problem=error.problem),)
        return ()

    def withdraw(self) -> None:
        """Add that the file did not appear: its records count as not released by this run."""
        self._add("withdrawn")

    def _add(self, kind: str) -> None:
        if self._register is not None and self._id is not None:
            with opened_register(self._register) as book:
                book.add({"kind": kind, "id": self._id})

    def _alike(self, entries: Sequence[Mapping[str, Any]]) -> list[Alike]:
        published, withdrawn = (
            {one["id"] for one in entries if one["kind"] == kind} for kind in ("published", "withdrawn")
        )
        counted = [one for one in entries if one["kind"] == "release" and one["id"] not in withdrawn]
        for entry in counted:
            if entry["id"] not in self._found:
                self._found[entry["id"]] = self._known.alike(entry)
        found = [one for entry in counted if (one := self._found[entry["id"]]) is not None]
        found = found or self._known.together(counted)
        return [replace(one, published=one.entry["id"] in published) for one in found]


@contextmanager
def registration(config: Config, again: str | None, out: Path) -> Iterator[Registration]:
    """Stand around the publication of a release: its entry is there before the file.

    A run that is killed in between leaves an entry, and so its records count as released, whether or not they were.
    They count as not released only where an error of this run shows that no file appeared; of a table in a database,
    whose transaction may have been taken all the same, that is never assumed.

    Raises
    ------
    UsageError
        A reason is empty, or was given without a register.
    DocumentError
        The register cannot be used.
    """
    if again is not None and not again.strip():
        raise UsageError.of(
            "bad-value", name=Setting("--again"), expected="the reason to release the records again", given="empty"
        )
    if config.register is None and again is not None:
        given = (Setting("--register", ("releases.jsonl",)),)
        raise UsageError.of("needs-setting", name=Setting("--again"), needed="a register of releases", setting=given)
    registered = Registration(config.register, None if again is None else again.strip(), out)
    try:
        yield registered
    except (MasktronError, OSError):
        if not isinstance(out, AddressPath):
            with suppress(MasktronError):  # what cannot be withdrawn counts as released; the error is the first one
                registered.withdraw()
        raise


@dataclass(slots=True, eq=False)
class _Records:
    """The records of an original as a register knows them."""

    digest: str
    count: int
    hashes: RecordHashes
    samples: dict[tuple[str | None, int], HashSample] = field(default_factory=dict)
    rows: dict[str, NDArray[np.intp]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, secret: bytes) -> _Records:
        records, source = run.original.records, run.original.job.source
        hashes = RecordHashes.of(records.columns, secret, len(records))
        read = _hidden(secret, "file", source.digest, *source.part)
        return cls(read, len(records), hashes)

    @property
    def sketches(self) -> dict[str, Any]:
        """What an entry says of them: a sample of all records, and one for each field of those without it."""
        level = self.hashes.level(self.hashes.whole, WHOLE)
        without = {}
        for name in self.hashes.fields:
            found = self.sample(name, self.hashes.level(self.hashes.without(name), WITHOUT))
            if len(found.hashes):
                without[self._field(name)] = found.as_dict()
        return {
            "original": self.digest,
            "records": self.count,
            "whole": self.sample(None, level).as_dict(),
            "without": without,
        }

    def sample(self, name: str | None, level: int) -> HashSample:
        """Hash a sample of records: of whole ones, or of those that are like no other without a field.

        Without a field that names respondents, like records may be of others: nothing is told where most records are
        like another one.
        """
        if (name, level) not in self.samples:
            records = self.hashes.whole if name is None else self.hashes.without(name)
            self.samples[name, level] = self.hashes.sample(records, level, single=name is not None)
        return self.samples[name, level]

    def alike(self, entry: Mapping[str, Any]) -> Alike | None:
        """Compare an earlier release; None where it is of other records."""
        if entry["original"] == self.digest:
            return Alike(entry, 1.0, True, "")
        share, apart = max(self._shares(entry), key=lambda one: (one[0], not one[1]))
        if share < MOST:
            share, apart = self._in_some_way(entry), "one field of each record at most"
        return Alike(entry, share, False, apart) if share >= MOST else None

    def together(self, entries: Sequence[Mapping[str, Any]]) -> list[Alike]:
        """Return the releases that have most of the records together; none where they have fewer.

        As where another breakdown is released: by sex what was by region. Records count in all fields. A record is
        seen in the sample of every release that has it and is not too coarse, so the finest that has it says how many
        records it stands for; of such an estimate, two standard errors are taken off. So is the share that would be
        alike by chance, as records of few values are: as often as those of the releases are alike among themselves.
        """
        if len(entries) < 2 or not self.count:
            return []
        nowhere = 64
        level = np.full(self.count, nowhere)
        having = []
        for entry in entries:
            told = HashSample.read(entry["whole"])
            if entry["id"] not in self.rows:
                self.rows[entry["id"]] = self._alike_rows(None, told)
            rows = self.rows[entry["id"]]
            level[rows] = np.minimum(level[rows], self._level(told))
            having += [entry] if len(rows) else []
        weights = 2.0 ** level[level < nowhere]
        least = float(weights.sum() - 2 * np.sqrt((weights * (weights - 1)).sum()))
        share = min(1.0, least / self.count)
        most = share - _by_chance(entries) >= MOST
        return [Alike(one, share, False, "", together=True) for one in having] if most else []

    def _shares(self, entry: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
        """Shares of like records: in all fields, without one of either file, and without one of both.

        Without one of both, it may be another one in each: the same field, by another name.
        """
        whole = HashSample.read(entry["whole"])
        without = [HashSample.read(own) for own in entry["without"].values()]
        yield self._share(None, whole), ""
        for own in without:
            yield self._share(None, own), "the field that this file does not have"
        for name in self.hashes.fields:
            yield self._share(name, whole), f"the field {name}"
        for level in sorted({self._level(told) for told in without}):
            yield from self._without_both(level, [told for told in without if self._level(told) == level])

    def _without_both(self, level: int, without: Sequence[HashSample]) -> Iterator[tuple[float, str]]:
        """Shares of like records without one field of either file, where there is any like record."""
        there = [told.at(level) for told in without]
        every = np.unique(np.concatenate(there))
        for name in self.hashes.fields:
            own = self.sample(name, level).hashes
            places = np.searchsorted(every, own)
            common = own[places < np.searchsorted(every, own, side="right")]
            if not len(common):
                continue
            for told in there:
                smaller = min(len(own), len(told))
                yield (len(np.intersect1d(common, told)) / smaller if smaller else 0.0), f"the field {name}"

    def _in_some_way(self, entry: Mapping[str, Any]) -> float:
        """Share of the records that are alike in all fields, or in all but one, which may be another in each record.

        A record that differs in one field is alike without this one alone, so these records are added up over the
        fields. Where they are estimated from samples, two standard errors are taken off. Where not even the whole
        records are all there, those that are alike in all fields are taken off each field as many as there are.
        """
        whole = HashSample.read(entry["whole"])
        alike = self._alike_rows(None, whole)
        level = self._level(whole)
        total, variance = float(len(alike) << level), 0.0
        fields = 0
        for name in self.hashes.fields:
            if (kept := entry["without"].get(self._field(name))) is None:
                continue
            told = HashSample.read(kept)
            rows = self._alike_rows(name, told)
            if level == 0:
                rows = np.setdiff1d(rows, alike)
            weight = 1 << self._level(told)
            total += len(rows) * weight
            variance += len(rows) * weight * (weight - 1)
            fields += 1
        if level:
            total -= fields * (len(alike) << level)
            variance += (fields - 1) ** 2 * (len(alike) << level) * ((1 << level) - 1)
        smaller = min(self.count, entry["records"])
        return float(min(1.0, max(0.0, total - 2 * np.sqrt(variance)) / smaller)) if smaller else 0.0

    def _alike_rows(self, name: str | None, told: HashSample) -> NDArray[np.intp]:
        level = self._level(told)
        own = self.sample(name, level)
        return own.rows[np.isin(own.hashes, told.at(level))]

    def _share(self, name: str | None, told: HashSample) -> float:
        """Share of like records in the smaller one of two samples of the same level."""
        level = self._level(told)
        own, others = self.sample(name, level).hashes, told.at(level)
        smaller = min(len(own), len(others))
        return len(np.intersect1d(own, others)) / smaller if smaller else 0.0

    def _level(self, told: HashSample) -> int:
        """Return the level of a comparison.

        That of the entry; a higher one where these records are so many more that to hash them would take long, and
        enough of the entry are left.
        """
        level = told.level
        while self.count >> level > AT_ONCE and len(told.at(level + 1)) >= ENOUGH:
            level += 1
        return level

    def _field(self, name: str) -> str:
        return _hidden(self.hashes.secret, "field", name.casefold())[:16]


def has_entry(register: Register, entry: str) -> bool:
    """Whether a register has an entry; none is made where there is no register.

    Raises
    ------
    DocumentError, UsageError
        It cannot be used.
    """
    if not any(path.exists() for path in register.files.values()):
        return False
    with opened_register(register) as book:
        return any(one.get("id") == entry for one in book.entries if one["kind"] == "release")


def _other_releases(alike: Sequence[Alike], digest: str) -> list[Alike]:
    """Releases beside which a file tells something new: none where it has been published as it is."""
    same = [one for one in alike if one.entry["output"]["sha256"] == digest]
    return [] if any(one.published for one in same) else [one for one in alike if one not in same]


def _by_chance(entries: Sequence[Mapping[str, Any]]) -> float:
    """Bound the share of other records that have a like one in several releases, if these are of other respondents.

    It is the share of pairs of their records that are alike, at most (3 more than are seen, and two standard errors),
    times the number of their records.
    """
    told = [HashSample.read(entry["whole"]) for entry in entries]
    sizes = np.array([entry["records"] for entry in entries], dtype=float)
    pairs = (sizes.sum() ** 2 - (sizes**2).sum()) / 2
    level = max(one.level for one in told)
    _, copies = np.unique(np.concatenate([one.at(level) for one in told]), return_counts=True)
    seen = float((copies * (copies - 1)).sum()) / 2
    return float(sizes.sum() * (seen + 2 * np.sqrt(seen) + 3) * 2.0**level / pairs) if pairs else 1.0


def _refusal(alike: Sequence[Alike], run: Run) -> ReleasedBeforeError:
    return ReleasedBeforeError.of("released-before", run.original.job.source.path, earlier=_named(alike))


def _named(alike: Sequence[Alike]) -> str:
    """Say which release is meant, the last one, and how many others there are."""
    others = len(alike) - 1
    more = f", and in {others} other {'entry' if others == 1 else 'entries'}" if others else ""
    return f"{alike[-1]}{more}"


def _hidden(secret: bytes, *parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=secret, digest_size=32, person=b"masktron entry").hexdigest()
