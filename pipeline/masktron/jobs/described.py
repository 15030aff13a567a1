"""Settings completed by what the file says of its variables."""

from __future__ import annotations

from masktron.config import Config
from masktron.sources.described import with_variables
from masktron.sources.source import Source


def described(config: Config, source: Source) -> tuple[Config, tuple[str, ...]]:
    """Return the settings with the kinds, missing codes and weight that a file declares, and what came from it.

    Variables without a value in any record are no fields of the file, and left out.

    Parameters
    ----------
    config : Config
    source : Source
        The original.

    Raises
    ------
    DocumentError, UsageError
        The file cannot be read.
    """
    variables = source.variables
    if not variables:
        return config, ()
    fields = {field.name for field in source.layout.fields}
    return with_variables(config, (variable for variable in variables if variable.name in fields))
