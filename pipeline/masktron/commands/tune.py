"""``masktron tune``."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

import click

from masktron.commands import running
from masktron.commands.base import Paged, UnderRules
from masktron.config import Config
from masktron.declared import OUTPUT, Shape, setting
from masktron.errors import Exit, UsageError
from masktron.jobs.search.asked import (
    TuneSettings,
    hierarchies_in,
    matrices_in,
    tune_settings_from,
    tune_settings_in,
    wider_limits,
)
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.results import TuneCandidate, TuneResult


class Tune(UnderRules, Paged):
    """Mask records in several ways, in memory, compare risk and utility, and recommend one way.

    Returns
    -------
    TuneResult
        ``candidates`` has all of them, ``recommended`` the position of the one to take and ``why`` the reason;
        ``to_frame()`` has them as a data frame.

    Raises
    ------
    UsageError, RulebookError, DocumentError, ViolationError, ResourceError

    Notes
    -----
    Each candidate has its own method, parameters, aggregator, k and grouping, and treatment of keys where that is
    asked for; all else is the same for all. In Python, ``ask`` is what the table ``[tune]`` of a file of settings
    says:
    ``{"methods": ["mdav", "noise"], "k": [3, 10], "recode": {"AGE": ["width:5"]}, "key_k": 3, "budget": "5m"}``.
    """

    name = "tune"
    takes_all = True

    out: MaybeFilePath = setting(
        "Folder of tune.json, and of what a run that was interrupted goes on from; confidential.",
        OUTPUT, default=None, kw_only=False, short="-o", metavar="DIR", needed=True,
    )  # fmt: skip
    ask: Mapping[str, object] | None = setting("What is tried.", default=None, options=TuneSettings, form=Shape.VALUE)

    write: Path | None = setting(
        "Write the settings of a candidate to this file, such as masktron.toml, for masktron mask.",
        OUTPUT, default=None, init=False, metavar="FILE", page="tuning",
    )  # fmt: skip
    candidate: int | None = setting(
        "The candidate of --write, by its number.",
        OUTPUT, default=None, init=False, metavar="N", shown="the recommended one", page="tuning",
    )  # fmt: skip
    map: Path | None = setting(
        "Draw the map of risk and loss, anew as candidates come in; DIR/tune.json grows with it.",
        OUTPUT, default=None, init=False, metavar="FILE.svg", writes=True, page="tuning",
    )  # fmt: skip

    @override
    def refuse_outputs(self, written: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
        asked = tune_settings_from({}).read(self.ask or {})
        files = {f"the hierarchy {one.path.name} of {name}": one.path for name, one in hierarchies_in(self, asked)}
        files |= {f"the matrix {one.name} of {name}": one for name, one in matrices_in(self, asked)}
        out: Any = self.out  # which the command line needs
        running.check_outputs(written, {**inputs, **files}, out)
        # the settings may be written where they stand
        outputs = {**written, "--write": self.write}
        running.check_outputs(outputs, {**inputs, **files, "the settings": None}, out)
        _require_apart(outputs, out)
        _require_writable(self.write, self.candidate, self.settled)

    @override
    def carry_out(self, progress: Progress) -> Any:
        out: Any = self.out
        wanted = _seen(self.candidate, out, self.data)
        # the start of the process, where it is known: what is loaded before this is a part of the budget
        context = click.get_current_context(silent=True)
        begun = context.obj if context is not None and isinstance(context.obj, float) else time.monotonic()
        draw = None if self.map is None else functools.partial(_draw, path=self.map)
        with _going_on_told() as kept:
            result = self.run(progress, candidate=wanted, begun=begun, kept=kept, so_far=draw)
        return result, wanted

    @override
    def tell(self, result: Any) -> None:
        found, wanted = result
        if self.map is not None:
            _draw(found, self.map)
        running.report(found, self.json, self.html, found=self.found)
        if self.write is not None:
            running.show(_written(found, self.write, wanted, self.settled), self.json)

    @override
    def code(self, result: Any) -> Exit:
        return _exit(result[0]) if self.candidate is None else Exit.COMPLIES

    def run(self, progress: Progress = no_progress, **more: Any) -> TuneResult:
        """Try the ways; `more` is for `run_tune`."""
        from masktron.jobs.search.tuning import run_tune

        self.require_no_format(self.data)
        return run_tune(
            self.data, self.rules, self.out, config=self.settled, asked=self._asked(), progress=progress, **more
        )

    def _asked(self) -> TuneSettings:
        """Return what is tried: as the file of settings says, and as options or `ask` say otherwise."""
        file, named = self.file
        if file is not None:
            from masktron.settings_file import load_config

            asked = tune_settings_in(file, named=named).read(self.ask or {})
            return replace(asked, wider=wider_limits(load_config(file).limits, self.limits))
        asked = tune_settings_from({} if self.ask is None else self.ask, "ask")
        limits = {} if self.config is None else self.config.limits
        least = self.k if self.config is not None or "k" in self.given else 0
        return replace(asked, least=least, wider=wider_limits(limits, self.limits))


def _require_apart(outputs: Mapping[str, Path | None], out: Path) -> None:
    """Refuse an output in the place of the result, or among what is kept for the next run."""
    from masktron.files import same_file
    from masktron.jobs.search import FOLDER, RESULT

    for name, path in outputs.items():
        if path is None:
            continue
        if same_file(path, out / RESULT):
            raise UsageError.of("would-overwrite", path, output=name, taken="the result")
        if path.resolve().is_relative_to((out / FOLDER).resolve()):
            raise UsageError.of("would-overwrite", path, output=name, taken="what is kept for the next run")


def _require_writable(write: Path | None, candidate: int | None, settings: Config) -> None:
    """Refuse, before anything is tried, settings that could not be written."""
    if candidate is not None and write is None:
        raise UsageError.of(
            "needs-setting",
            name="--candidate",
            setting=Setting("--write", ("masktron.toml",)),
            needed="another option",
        )
    if candidate is not None and candidate < 0:
        raise UsageError.of("bad-value", name="--candidate", expected="at least 0", given=candidate)
    if write is not None:
        from masktron.jobs.search.settings_text import text_with

        text_with(settings, write)


def _seen(candidate: int | None, out: Path, data: Path) -> int | TuneCandidate | None:
    """Return the candidate that the user has seen under a number: in the last result, if there is one."""
    if candidate is None:
        return None
    from masktron.jobs.search.outcomes import earlier_candidate

    return earlier_candidate(out, candidate, data) or candidate


def _draw(result: TuneResult, path: Path) -> None:
    """Draw the map, as far as candidates have figures."""
    from masktron.report.pages.tune_page import plane_of
    from masktron.report.pictures.canvas import write_picture

    plane = plane_of(result)
    if plane is not None:
        write_picture(path, plane, "risk-utility-map")


@contextmanager
def _going_on_told() -> Iterator[Callable[[], object]]:
    """Say, where a run is interrupted, what another one goes on from; yield what counts a result that is kept."""
    kept = itertools.count()
    try:
        yield kept.__next__
    except (KeyboardInterrupt, SystemExit):
        if results := next(kept):
            said = "1 result of this run is" if results == 1 else f"{results} results of this run are"
            click.echo(f"{said} kept: the same command goes on from there", err=True)
        raise


def _written(
    result: TuneResult, path: Path, candidate: int | TuneCandidate | None, settings: Config
) -> Iterator[str]:
    """Write the settings of a candidate, and say of which."""
    from masktron.jobs.search.grid import position_of, settings_of, with_keys
    from masktron.jobs.search.settings_text import write_settings
    from masktron.report.text import plain

    position = result.recommended if candidate is None else position_of(candidate, result.candidates)
    if position is None:
        return  # the table says why, and so does the exit code
    chosen = result.candidates[position]
    if chosen.state in ("refused", "ended", "unreached"):
        raise UsageError.of("candidate-without-figures", candidate=position, reasons=chosen.reasons)
    recode, pram = (
        {name: how for one in result.candidates for name, how in getattr(one, axis).items()}
        for axis in ("recode", "pram")
    )
    known = with_keys(settings, recode, pram)
    write_settings(path, settings_of(chosen, known))
    yield f"settings of {plain(chosen.name)} written: {plain(path.as_posix())}"
    if settings.limits:
        bounds = ", ".join(f"{name} {bound:g}" for name, bound in settings.limits.items())
        yield f"the limits that it was chosen under stand there as well: {bounds}"


def _exit(result: TuneResult) -> Exit:
    if result.recommended is not None:
        return Exit.COMPLIES
    states = {one.state for one in result.candidates}
    if states & {"measured", "sampled", "unreached"}:
        return Exit.VIOLATION
    return Exit.RESOURCES if "ended" in states else Exit.INFEASIBLE
