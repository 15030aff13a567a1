"""What a run takes its random numbers from, and what is said of that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.methods.base import Method, Partitioning
from masktron.methods.chosen import Chosen
from masktron.methods.parameters import Parameter
from masktron.problems.problem import Note, Sentence
from masktron.release_secret import is_secret, new_secret, secret_of_seed
from masktron.roles import FieldFacts
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.lexicon import Lexicon
from masktron.streams import Streams


@dataclass(frozen=True, slots=True)
class Randomness:
    """The random numbers of a run.

    Attributes
    ----------
    secret : bytes or None
        Of the release; None where nothing is random.
    streams : Streams or None
        None where nothing is random.
    says : tuple of str
        What the user has to know of it.
    """

    secret: bytes | None = field(repr=False)
    streams: Streams | None = field(repr=False)
    says: tuple[Sentence, ...]


def draws(method: Method) -> bool:
    """Tell whether a method draws: what forms groups of records that share their values takes no random numbers."""
    return not isinstance(method, Partitioning)


def randomness_of(
    config: Config,
    job: Job,
    chosen: Chosen,
    fields: Sequence[FieldFacts],
    *,
    shuffled: bool,
    origin: Callable[[], Origin],
    made: bytes | None = None,
) -> Randomness:
    """Take the secret of a release, or make one, and derive from it what the run draws from.

    Parameters
    ----------
    config : Config
    job : Job
    chosen : Chosen
    fields : sequence of FieldFacts
    shuffled : bool
        Whether the order of the records is drawn.
    origin : callable
        Returns what the draws depend on besides the settings; asked only where something is drawn.
    made : bytes, optional
        The secret, where a treatment has drawn from it already.

    Raises
    ------
    UsageError
        The seed is so short that it is found by trying.
    """
    said = tuple(_said(config, needed=shuffled or draws(chosen.method) or made is not None))
    if not (shuffled or draws(chosen.method)):
        return Randomness(made, None, said)
    if draws(chosen.method):
        _require_secret(config, "what the method draws")
    else:
        _require_secret(config, "the order of the records", Note("; with [[--keep-order]] nothing is random"))
    secret = made or _secret_of(config)
    return Randomness(secret, origin().streams(secret, _settings(config, job, chosen, fields)), said)


@dataclass(frozen=True, slots=True)
class Origin:
    """What the random numbers of a step depend on, besides the secret of the release and the settings of the step.

    Another of any of these gives unrelated numbers: equal ones in two releases would be solved for. None of them
    depends on the format or the place of a file, or on how records are held.

    Attributes
    ----------
    records : str
        Digest of the original, as `digest_of_columns`.
    rules : str
        Digest of the rulebook as it was written, with the documents that it reads.
    left_out : str
        Digest of the positions of records that are not released.
    codes : tuple of (str, tuple of str)
        Texts that mean 'missing', by field.
    steps : tuple of (plain data, str)
        Settings of each earlier step, and the digest of the columns that it changed.
    """

    records: str
    rules: str
    left_out: str
    codes: tuple[tuple[str, tuple[str, ...]], ...]
    steps: tuple[tuple[object, str], ...] = ()

    @classmethod
    def of(cls, job: Job, records: Dataset, keep: NDArray[np.bool_], fields: Sequence[FieldFacts]) -> Self:
        """Return that of the first step.

        Parameters
        ----------
        job : Job
            With the rules as they were written.
        records : Dataset
            All of the original.
        keep : ndarray of bool, shape (n,)
            Those that are released.
        fields : sequence of FieldFacts
        """
        return cls(
            digest_of_columns(records.columns),
            _digest(rules_in_one_form(job, job.source.digest)),
            _digest(np.flatnonzero(~keep).tolist()),
            tuple((fact.name, fact.codes) for fact in fields if fact.codes),
        )

    def after(self, settings: object, columns: Mapping[str, Column]) -> Self:
        """Return that of the next step, after one with some settings has changed some columns."""
        return replace(self, steps=(*self.steps, (settings, digest_of_columns(columns))))

    def streams(self, secret: bytes, settings: object) -> Streams:
        """Return the random numbers of a step with some settings."""
        return Streams(secret, self.records, self.rules, _digest([self.left_out, self.codes, self.steps, settings]))


def digest_of_columns(columns: Mapping[str, Column]) -> str:
    """Return the SHA-256 of the texts of some columns, record by record, in hexadecimal.

    Columns count in the order of their names. A column is its distinct texts in sorted order, and which of them each
    record has. Numbers of columns, texts, records and bytes stand before them, so that no two files read alike.
    """
    found = sha256(b"%d:" % len(columns))
    for name in sorted(columns):
        distinct, places = columns[name].ranked()
        found.update(b"%d:%d:" % (len(distinct), len(places)))
        found.update(_in_frames(Lexicon.of([name])))
        found.update(_in_frames(distinct))
        found.update(places.astype("<i8").tobytes())
    return found.hexdigest()


def _in_frames(texts: Lexicon) -> bytes:
    """Return each text as ``=SIZE:BYTES``, one behind the other; an absent one, which is the first, as ``-``."""
    import pyarrow as pa  # noqa: PLC0415 -- takes a while
    import pyarrow.compute as pc  # noqa: PLC0415

    absent = int(np.count_nonzero(texts.absent()))
    octets = texts.octets()[absent:]
    sizes = pc.binary_length(octets).cast(pa.string()).cast(octets.type)
    before, between, nothing = (pa.scalar(sign, octets.type) for sign in (b"=", b":", b""))
    framed = Lexicon.of_octets(pc.binary_join_element_wise(before, sizes, between, octets, nothing))
    return b"-" * absent + framed.data.tobytes()


def secret_for_treatments(config: Config) -> bytes:
    """Take the secret of a release, or make one, before anything is masked.

    Raises
    ------
    UsageError
        The seed is so short that it is found by trying.
    """
    _require_secret(config, "what protects keys")
    return _secret_of(config)


def _require_secret(config: Config, protects: str, otherwise: Sentence = "") -> None:
    """Refuse a seed that is found by trying."""
    if config.seed is not None and not is_secret(config.seed):
        raise UsageError.of("weak-seed", protects=protects, otherwise=otherwise)


def _secret_of(config: Config) -> bytes:
    return config.secret or (new_secret() if config.seed is None else secret_of_seed(config.seed))


def _said(config: Config, *, needed: bool) -> Iterator[Sentence]:
    given = "secret" if config.secret is not None else "seed" if config.seed is not None else ""
    if given and not needed:
        yield f"nothing is random in this run: the {given} was not used"
    elif given == "seed":
        yield Note(
            "the seed is a secret, as the manifest is: with it, this program and the settings, anybody can undo what "
            "its random numbers protect. It stands in the history of the shell; without [[--seed]], nobody has to "
            "keep it"
        )
    elif given == "secret":
        yield (
            "the secret repeats a run to the byte where file, rules, settings and version are the same; otherwise "
            "this is another draw, and whoever has both releases of the same records averages them"
        )


def _digest(content: object) -> str:
    return sha256(json.dumps(content, ensure_ascii=True, allow_nan=True).encode()).hexdigest()


def rules_in_one_form(job: Job, original: str) -> list[object]:
    """The rulebook as it is understood, whatever files it came from: comments and messages change nothing.

    So are documents that the rules read, by what they hold. The original is bound anyway, by whatever names.
    """
    book = job.rulebook
    lets = [[let.name, let.value] for let in book.lets]
    patterns = [
        [
            [[let.name, let.value] for let in pattern.lets],
            [
                [
                    rule.context,
                    [[let.name, let.value] for let in rule.lets],
                    [[check.id, check.kind, check.test, check.soft] for check in rule.checks],
                ]
                for rule in pattern.rules
            ],
        ]
        for pattern in book.patterns
    ]
    rules: list[object] = [book.version, [list(pair) for pair in book.namespaces], lets, patterns]
    beside = sorted([one.name, one.sha256] for one in book.beside if one.sha256 != original)
    return [*rules, beside] if beside else rules


def _settings(config: Config, job: Job, chosen: Chosen, fields: Sequence[FieldFacts]) -> dict[str, object]:
    """The settings that decide values, in one form however they were given.

    Left out is what changes no value: paths, workers, limits and whatever else can only stop a run, and the order of
    the written records. Released in both orders, the same draws tell no more than once.
    """
    method = chosen.method
    return {
        "k": config.k,
        "record": list(job.source.layout.record_path),
        "fields": [
            [
                fact.name,
                fact.role.value,
                fact.kind.value,
                fact.order and list(fact.order),
                sorted(fact.codes),
            ]
            for fact in fields
        ],
        "grouping": [config.grouping, config.group_size_vars, config.max_block_records, *_units(config)],
        "allow": sorted({*config.allow}),
        "aggregator": config.aggregator,
        "method": method.name,
        "params": {
            name: _plain(one, getattr(method, name)) for name, one in method.parameters.items() if name != "k"
        },
        "class": list(chosen.class_fields),
    }


def _units(config: Config) -> list[int]:
    """Records of a unit, where the file is masked in units."""
    return [config.unit_records] if config.unit_records else []


def _plain(parameter: Parameter, value: Any) -> object:
    """One form for equal values of a parameter: numbers as floats, a single one of several as a list."""
    if parameter.kind in ("integer", "number"):
        return None if value is None else float(value)
    if parameter.kind == "numbers" and value is not None:
        return [float(one) for one in (value if isinstance(value, Iterable) else (value,))]
    return list(value) if isinstance(value, list | tuple) else value
