"""What motifs build on: fields and rules so far, and the choice among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pairs.rules import Atom, Cases, Class, Edit, Label
from pairs.values import (
    INTEGERS,
    MONEY,
    NUMBERS,
    STAYING,
    Kind,
    Role,
    Value,
    Variable,
    draw_integers,
    draw_money,
    draw_ratios,
)


@dataclass(slots=True)
class Builder:
    """A file and a rulebook that grow together: every rule holds in the data when it is added."""

    rng: random.Random
    n: int
    k: int
    max_variables: int
    size: list[float] = field(init=False)
    variables: dict[str, Variable] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = [self.rng.gauss(0, 1) for _ in range(self.n)]

    @property
    def records(self) -> range:
        return range(self.n)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def room(self, count: int = 1) -> bool:
        return len(self.variables) + count <= self.max_variables

    # fields

    def add(self, kind: Kind, values: Sequence[Value], role: Role = "confidential") -> Variable:
        variable = Variable(f"V{len(self.variables) + 1}", kind, list(values), role, padded=self.chance(0.5))
        self.variables[variable.name] = variable
        return variable

    def new_number(self, kind: Kind, style: str | None = None) -> Variable:
        return self.add(kind, self.draw(kind, style))

    def draw(self, kind: Kind, style: str | None = None) -> list[Fraction]:
        match kind:
            case "integer":
                return draw_integers(self.rng, self.size, style or self.rng.choice(INTEGERS))
            case "money":
                return draw_money(self.rng, self.size, style or self.rng.choice(MONEY))
            case _:
                return draw_ratios(self.rng, self.size)

    def new_text(self, role: Role = "confidential") -> Variable:
        names = self.rng.choice(
            (("NO", "SO", "EA", "WE"), ("A", "B", "C"), ("y", "n"), ("agr", "ind", "srv", "pub", "oth"))
        )
        weights = [self.rng.uniform(0.05, 1) for _ in names]
        return self.add("text", self.rng.choices(names, weights, k=self.n), role)

    def found(self, kinds: Sequence[Kind], *, fixed: bool = False, without: Collection[str] = ()) -> list[Variable]:
        """Return the fields of some kinds: masked ones, and if `fixed` also the unmasked ones that conditions use."""
        roles = ("confidential", *STAYING) if fixed else ("confidential",)
        return [
            variable
            for variable in self.variables.values()
            if variable.kind in kinds and variable.role in roles and variable.name not in without
        ]

    def pick(
        self,
        kinds: Sequence[Kind] = NUMBERS,
        *,
        fixed: bool = False,
        without: Collection[str] = (),
        fits: Callable[[Variable], bool] = lambda _: True,
        fresh: float = 0.25,
    ) -> Variable | None:
        """Take a field, one that stands in rules rather than another; sometimes a new one while there is room."""
        options = [variable for variable in self.found(kinds, fixed=fixed, without=without) if fits(variable)]
        if not options or (self.room() and self.chance(fresh)):
            if not self.room():
                return None
            new = (
                self.new_text()
                if set(kinds) == {"text"}
                else self.new_number(self.rng.choice([k for k in kinds if k != "text"]))
            )
            return new if fits(new) else None
        ruled = {name for edit in self.edits for name in edit.variables}
        return self.rng.choices(options, [3 if variable.name in ruled else 1 for variable in options])[0]

    # rules

    def rule(
        self,
        label: Label,
        kind: Class,
        consequent: Cases,
        antecedent: tuple[Atom, ...] = (),
        otherwise: Cases | None = None,
    ) -> None:
        self.edits.append(Edit(f"R{len(self.edits) + 1}", label, kind, consequent, antecedent, otherwise))
