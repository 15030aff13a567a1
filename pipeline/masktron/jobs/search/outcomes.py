"""Results of candidates, kept in the output folder, so that a run that was interrupted goes on where it stopped.

An entry is found by the SHA-256 of all that decides its figures: the original, the rulebook as it is understood with
the documents that it reads, the settings and roles, the candidate with the files that it names and its seed, the
sample, the names of the figures, the versions of masktron and of the packages that compute, and the code of masktron
itself. An entry that was damaged, or that has the name of another, is computed anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from masktron.config import Config, config_from
from masktron.declared import names
from masktron.errors import DocumentError
from masktron.files import file_hash
from masktron.jobs.randomness import rules_in_one_form
from masktron.jobs.recoded import hierarchy_files
from masktron.jobs.run import Run
from masktron.jobs.search import RESULT
from masktron.jobs.search.bench import Attempt, TuneOutcome
from masktron.perturbation_settings import matrix_files
from masktron.problems.problem import Problem, Sentence
from masktron.results import TuneCandidate, shown
from masktron.versions import versions
from masktron.write.atomic import atomic_path
from masktron.write.manifest import write_plain

_SPARED = names(Config, lambda one: one.spared_by_tune)
"""Settings that decide no figure, or do so by what is hashed anyway: candidate, fields, rules, the original, and the
file of metadata. How the file is read is none of them: its options say which table of a database is meant."""


class KeptOutcomes:
    """The results of a file, rules and settings in a folder.

    Parameters
    ----------
    folder : Path or None
        None keeps nothing.
    original : Run
    names : sequence of str
        Figures that are computed.
    sample : str
        What decides the sample.
    """

    def __init__(self, folder: Path | None, original: Run, names: tuple[str, ...], sample: str) -> None:
        self._folder = folder
        digest = original.job.source.digest
        content = {
            "original": digest,
            "rules": rules_in_one_form(original.job, digest),
            "settings": _settings(original.config),
            "metadata": None if original.config.metadata is None else file_hash(original.config.metadata),
            "fields": [
                [one.name, str(one.role), str(one.kind), str(one.order), sorted(one.codes)] for one in original.fields
            ],
            "record": list(original.job.source.layout.record_path),
            "kept": len(original.kept),
            "figures": list(names),
            "versions": versions(),
            "code": code_digest(),
        }
        self._common = _digest(content)
        self._config, self._sample = original.config, sample
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
            except OSError as error:
                raise DocumentError.of("cannot-write", folder, file="a result", reason=error.strerror) from error

    def find(self, attempt: Attempt) -> TuneOutcome | None:
        """Return what was found before; None where that is not known, or cannot be trusted."""
        if self._folder is None:
            return None
        key = self._key(attempt)
        try:
            entry = json.loads((self._folder / f"{key}.json").read_bytes())
            body = entry["body"]
            if entry["key"] != key or entry["sha256"] != _digest([key, body]):
                return None
            return TuneOutcome(
                refused=_said(body["refused"]),
                figures={name: (float(value), worst) for name, (value, worst) in body["figures"].items()},
                seconds=body["seconds"],
                protection=_numbers(body["protection"]),
                given_away=tuple(map(_said, body["given_away"])),
                levels={level: _numbers(own) for level, own in body["levels"].items()},
                concerns=tuple(map(_said, body["concerns"])),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # not there, or damaged: it is computed again

    def keep(self, attempt: Attempt, outcome: TuneOutcome) -> bool:
        """Keep what was found, whole or not at all, and tell whether it was kept.

        What time or memory ended is not, since it may have both another time.

        Raises
        ------
        DocumentError
            It cannot be written.
        """
        if self._folder is None or outcome.ended:
            return False
        key = self._key(attempt)
        body = {
            "refused": _as_data(outcome.refused),
            "figures": {name: [_kept(value), worst] for name, (value, worst) in outcome.figures.items()},
            "seconds": round(outcome.seconds, 3),
            "protection": _kept_all(outcome.protection),
            "given_away": [*map(_as_data, outcome.given_away)],
            "concerns": [*map(_as_data, outcome.concerns)],
            "levels": {level: _kept_all(own) for level, own in outcome.levels.items()},
        }
        with atomic_path(self._folder / f"{key}.json", noted=False) as temporary:
            write_plain(temporary, {"key": key, "sha256": _digest([key, body]), "body": body})
        return True

    def _key(self, attempt: Attempt) -> str:
        config = config_from(attempt.settings, base=self._config)
        files = {**hierarchy_files(config), **matrix_files(config.pram)}
        own = [
            json.dumps(attempt.settings),  # with fields in the order in which they are treated
            attempt.seed,
            "all" if attempt.whole else self._sample,
            {name: file_hash(path) for name, path in files.items()},
        ]
        return _digest([self._common, own])


def earlier_candidate(out: Path, number: int, data: Path) -> TuneCandidate | None:
    """Return what a number stood for in the last run on the same file; None where no result says so.

    Candidates begin with what the settings say: they have other numbers once settings were written.
    """
    try:
        last = json.loads((out / RESULT).read_bytes())
        own = last["candidates"][number] if last["data"] == shown(data) else None
        return None if own is None else TuneCandidate.from_dict(own)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None  # there was none, or its result is damaged, and will be written anew


@cache
def code_digest() -> str:
    """Return the SHA-256 of the code of masktron: figures of another version are figures of another program."""
    root = Path(__file__).resolve().parents[2]
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def _settings(config: Config) -> dict[str, Any]:
    own = {name: value for name, value in config.settings.items() if name not in _SPARED}
    return {name: _plain(value) for name, value in own.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in sorted(value.items())}
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _kept(value: float) -> float | str:
    """Return a number as JSON has it: what is not finite as a text."""
    return value if math.isfinite(value) else str(value)


def _kept_all(values: Mapping[str, float]) -> dict[str, float | str]:
    return {name: _kept(value) for name, value in values.items()}


def _numbers(kept: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in kept.items()}


def _as_data(one: Sentence) -> str | dict[str, Any]:
    """Return a sentence as data, so that whoever reads the map of another run has it in words of their own."""
    return one if isinstance(one, str) else one.as_dict()


def _said(told: Any) -> Sentence:
    return told if isinstance(told, str) else Problem.from_dict(told)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
