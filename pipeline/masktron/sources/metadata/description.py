"""What a description says, whatever form it has."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True)
class Description:
    """Variables of a file, and its title.

    Attributes
    ----------
    variables : tuple of Variable
        In the order of the description; fields of the file may be missing in it, and others may be there.
    title : str
    """

    variables: tuple[Variable, ...]
    title: str = ""
