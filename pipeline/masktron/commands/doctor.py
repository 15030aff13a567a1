"""``masktron doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from masktron.commands.base import Plain
from masktron.declared import HOW, setting
from masktron.errors import Exit, InstallationError
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import DoctorResult


class Doctor(Plain):
    """Say what this installation has."""

    name = "doctor"

    warm: bool = setting("Compile now what runs would have to compile; once per machine.", HOW, default=False)

    def run(self, progress: Progress = no_progress) -> DoctorResult:
        """Look at the installation."""
        from masktron.extras import broken_core

        if broken := broken_core():
            names = " ".join(one.package for one in broken)
            said = "; ".join(f"{one.package} {one.why}" for one in broken)
            hint = f"pip install --force-reinstall {names}"
            raise InstallationError.of("does-not-work", reason=said, hint=hint)
        from masktron.jobs.doctor import run_doctor

        return run_doctor(warm_up=self.warm, progress=progress)

    @override
    def code(self, result: Any) -> Exit:
        return Exit.COMPLIES if result.works else Exit.VIOLATION
