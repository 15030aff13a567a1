"""What a released nested file has, and its original has not: wide records only have places for what that has."""

from __future__ import annotations

from collections.abc import Iterator

from masktron.sources.level_tree import Tree


def beyond_original(released: Tree, original: Tree) -> Iterator[str]:
    """Yield what stands in a released nested file and has no place in the original: levels, and fields of a level.

    Parameters
    ----------
    released, original : Tree
    """
    known = dict(original.levels())
    for path, level in released.levels():
        name = released.shown(path)
        if path not in known:
            if path[:-1] in known:
                yield f"the level {name} is not in the original"
            continue
        # a level whose fields are all removed looks like a field without a value
        there = {(field.tag, field.attribute) for field in known[path].fields}
        there |= {(child.tag, False) for child in known[path].children}
        for field in level.fields:
            if (field.tag, field.attribute) not in there:
                yield f"the field {field.name} of {name} is not in the original"
