"""Methods that draw, for tests of what masking makes of it: they do on purpose what a real one does by chance."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ModelDrawn
from masktron.methods.base import Drawn, KeepingMethod, Method, RecordContext
from masktron.methods.parameters import parameter


class Drawing(Method):
    """Shifts every number by a normal error with this share of the spread; categories at random."""

    name: ClassVar[str] = "test_noise"
    title = says = when = source = attacker = "a test"
    preserves: ClassVar[tuple[str, ...]] = ()
    share: float = parameter("Of the spread.", default=0.4, least=0)

    @property
    def contract(self) -> MethodContract:
        return ModelDrawn()

    def least(self, variables: int) -> int:
        return 10

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        noisy = values + self.share * values.std(axis=0) * generator.normal(size=values.shape)
        if (nominal := context.kinds.of("nominal")).any():
            noisy[:, nominal] = generator.permutation(values[:, nominal])
        return Drawn(noisy)


class Returning(Drawing):
    """Gives every record back as it was."""

    name = "test_returning"

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        return Drawn(values.copy())


class Mixing(Drawing):
    """Draws categories too."""

    name = "test_mixing"
    categories = True


class Keeping(KeepingMethod, Drawing):
    """Looks at fields that it keeps."""

    name = "test_keeping"

    def __post_init__(self) -> None:
        self.seen: list[Floats] = []

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        self.seen.append(values)
        return super()._mask(values, generator, RecordContext.of(values, None))


ALL: tuple[type[Method], ...] = (Drawing, Returning, Mixing, Keeping)
