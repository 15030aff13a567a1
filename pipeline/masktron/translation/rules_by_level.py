"""The rules of a nested file translated to the file in which fields of some levels are recoded.

A rule that is asked of records of one level, and reads their fields and those of the records around them alone, is a
rule of flat records, which have these fields: it is translated as one. Theorem: what holds of the translation there
holds here. Proof: `masktron.unrolling.unrolled.unroll` writes the rule for the record with what is around it, so that
it fires and fails there where it does on the nested file, and the classes of a field around it are put in for its
value as those of the record's own. A rule that reads a recoded field of other records (of members, of siblings) is
lost. A rule that names no recoded field stays as it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from masktron.classify import classify
from masktron.errors import RulebookError
from masktron.recodings import Recoding
from masktron.rulebook.analysis import context_of
from masktron.rulebook.expressions import tree as written_tree
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import NameTest, Step
from masktron.rulebook.schema import Check, Pattern, Rulebook
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.wide.level_source import leaf_name, level_record
from masktron.translation.recoded_spelling import LostError
from masktron.translation.rule_translation import names_read, translated
from masktron.translation.translated_rules import TranslatedRule, Translation
from masktron.unrolling.unrolled import unroll


@dataclass(frozen=True, slots=True)
class LevelRules:
    """The rules of a nested rulebook on the records of one level, with what is around these.

    Attributes
    ----------
    rulebook : Rulebook
        Flat: its checks fire on a record of the level, or on one of its fields.
    origins : tuple of int
        For each of its checks, the index of that of the nested rulebook.
    reasons : mapping of int to str
        Why checks of the nested rulebook are not among them, as far as they might be.
    """

    rulebook: Rulebook
    origins: tuple[int, ...]
    reasons: Mapping[int, str]


def rules_of_level(rulebook: Rulebook, tree: Tree, path: LevelPath) -> LevelRules:
    """Return the rules on the records of one level that read them and what is around them alone."""
    record = level_record(tree, path)
    unrolled = unroll(rulebook, record, tree.layout)
    at = [place for place in record.places if place.level_path == path]
    own = {place.name for place in at} | {leaf.name for place in at for leaf in place.leaves}
    patterns: list[Pattern] = []
    origins: list[int] = []
    for pattern in unrolled.rulebook.patterns:
        rules = []
        for rule in pattern.rules:
            checks = [one for one in rule.checks if unrolled.origins[one.index].node in own]
            first = len(origins)
            origins += [unrolled.origins[one.index].check for one in checks]
            names = [rulebook.checks[unrolled.origins[one.index].check].id for one in checks]
            numbered = [replace(one, index=first + at, id=names[at]) for at, one in enumerate(checks)]
            rules.append(replace(rule, checks=tuple(numbered)))
        if any(rule.checks for rule in rules):
            patterns.append(replace(pattern, rules=tuple(rules)))
    book = replace(unrolled.rulebook, patterns=tuple(patterns))
    return LevelRules(book, tuple(origins), unrolled.reasons)


def translated_by_level(
    rulebook: Rulebook,
    tree: Tree,
    recodings: Mapping[str, Recoding],
    *,
    let_go: Collection[str] = (),
    masked: Collection[str] = (),
    removed: Collection[str] = (),
) -> Translation:
    """Translate every check of a rulebook to the nested file in which fields are recoded.

    Parameters
    ----------
    rulebook : Rulebook
    tree : Tree
        The levels of the file.
    recodings : mapping of str to Recoding
        By the name of the field in the tree.
    let_go, masked, removed
        As for `masktron.translation.translated`; fields by their names in the tree.

    Raises
    ------
    ValueError
        A recoded field is none of the tree.
    """
    return _ByLevel(rulebook, tree, recodings, frozenset(let_go), frozenset(masked), frozenset(removed)).done()


@dataclass(frozen=True, slots=True)
class _ByLevel:
    rulebook: Rulebook
    tree: Tree
    recodings: Mapping[str, Recoding]
    let_go: frozenset[str]
    masked: frozenset[str]
    removed: frozenset[str]

    def done(self) -> Translation:
        """Translate level by level, and say of each check what became of it at its own."""
        if lacking := [name for name in self.recodings if name not in self._by_leaf(self.recodings)]:
            raise ValueError(f"{', '.join(lacking)} is recoded, and another level has a field like it")
        plain = frozenset(name.rpartition("/")[2] for name in self.recodings)
        found: dict[LevelPath, dict[int, list[TranslatedRule]]] = {}
        reasons: dict[LevelPath, Mapping[int, str]] = {}
        for path, _ in self.tree.levels():
            found[path], reasons[path] = self._of_level(path)
        rules, every = [], tuple(sorted(plain))
        for pattern, position, check in self.rulebook.situated():
            named = names_read(self.rulebook, pattern, position, check, earlier=True)
            read = tuple(sorted(plain.intersection(named)))
            if not read and written_tree.ANY not in named:
                rules.append(_kept(pattern, position, check))
                continue
            try:
                rules.append(self._rule(pattern, position, check, found, reasons))
            except LostError as error:
                test = check.test
                rules.append(
                    TranslatedRule(check.id, check.index, "lost", test, "", "", "", error.reason, read or every)
                )
        left_out = frozenset(_left_out(self.rulebook, rules, plain))
        return Translation(self.rulebook, tuple(rules), left_out, self.let_go)

    def _by_leaf(self, names: Collection[str]) -> dict[str, str]:
        """Return what fields are called in the records of a level, with their names in the tree."""
        found = {}
        for name in names:
            place = self.tree.named(name)
            if place is None:
                raise ValueError(f"{name} is no field of the nested file")
            found[leaf_name(self.tree, *place)] = name
        return found

    def _of_level(self, path: LevelPath) -> tuple[dict[int, list[TranslatedRule]], Mapping[int, str]]:
        """Return what became of the checks that are asked of a level's records, and why others are not read so."""
        own = rules_of_level(self.rulebook, self.tree, path)
        layout = level_record(self.tree, path).layout
        there = {field.name for field in layout.fields}
        known = {name for name in (*self.masked, *self.removed) if self.tree.named(name) is not None}
        leaves = {name: leaf for leaf, name in self._by_leaf(known).items()}
        translation = translated(
            own.rulebook,
            classify(own.rulebook, layout),
            {name: one for name, one in self.recodings.items() if name in there},
            layout,
            let_go=[one.id for one in own.rulebook.checks if self._let_go(own.origins[one.index])],
            masked=[leaves[name] for name in self.masked if name in leaves],
            removed=[leaves[name] for name in self.removed if name in leaves],
        )
        found: dict[int, list[TranslatedRule]] = {}
        for rule in translation.rules:
            found.setdefault(own.origins[rule.index], []).append(rule)
        return found, own.reasons

    def _let_go(self, index: int) -> bool:
        return self.rulebook.checks[index].id in self.let_go

    def _rule(
        self,
        pattern: Pattern,
        position: int,
        check: Check,
        found: Mapping[LevelPath, Mapping[int, Sequence[TranslatedRule]]],
        reasons: Mapping[LevelPath, Mapping[int, str]],
    ) -> TranslatedRule:
        """Return what became of a check that names a recoded field.

        Raises
        ------
        LostError
            It reads it in other records, or is asked in more than one place.
        """
        levels = self._levels_of(pattern.rules[position].context)
        for path in levels:
            if check.index in reasons[path]:
                level = path[-1] if path else self.tree.top.name
                raise LostError(f"it does not ask one {level} alone: {reasons[path][check.index]}")
        asked = [(path, rule) for path in levels for rule in found[path].get(check.index, ())]
        if all(rule.fate == "kept" for _, rule in asked):
            return _kept(pattern, position, check)
        if len(asked) > 1:
            raise LostError("its context has several paths")
        ((path, rule),) = asked
        context = self._context(path) if rule.test else ""
        test = self._from(path, rule.test) if rule.test else ""
        return replace(rule, id=check.id, index=check.index, test=test, context=context, focus="")

    def _levels_of(self, context: str) -> list[LevelPath]:
        """Return the levels of which a context may take records, or fields.

        Raises
        ------
        LostError
            It does not say.
        """
        paths = context_of(self.rulebook, context)
        if paths is None:
            raise LostError("its context is not a plain path")
        tests = [one.steps[-1].node_test for one in paths if one.steps]
        if not all(isinstance(test, NameTest) for test in tests):
            raise LostError("its context is not a plain path of names")
        return [
            path
            for path, level in self.tree.levels()
            if any(
                isinstance(test, NameTest) and test.takes(tag)
                for test in tests
                for tag in (level.tag, *(own.tag for own in level.fields))
            )
        ]

    def _context(self, path: LevelPath) -> str:
        """Return the path of the records of a level, from the top level down."""
        return "/".join(self._prefixed(tag) for tag in (self.tree.layout.record_tag, *self.tree.tags(path)))

    def _prefixed(self, tag: str) -> str:
        """Return a name of an element as the rulebook can write it.

        Raises
        ------
        LostError
            Its namespace has no prefix.
        """
        space, _, local = tag.rpartition("}")
        if not space:
            return local
        prefix = next((one for one, uri in self.rulebook.namespaces if one and uri == space[1:]), None)
        if prefix is None:
            raise LostError(f"the namespace of {local} has no prefix")
        return f"{prefix}:{local}"

    def _from(self, path: LevelPath, test: str) -> str:
        """Return a test on a record of a level as it is written there: fields around it are paths upwards."""
        ways = {
            leaf.name: "../" * (len(path) - len(place.level_path))
            + ("@" if leaf.field.attribute else "")
            + self._prefixed(leaf.field.tag)
            for place in level_record(self.tree, path).places
            for leaf in place.leaves
        }
        steps = [one for one in written_tree.walk(parsed(test, ())) if isinstance(one, Step)]
        text = test
        for step in sorted(steps, key=lambda one: one.start, reverse=True):
            if step.predicates:
                raise LostError("its translation has predicates")
            if isinstance(step.test, NameTest):
                name = f"{'@' if step.axis == 'attribute' else ''}{step.test.local}"
                text = text[: step.start] + ways[name] + text[step.end :]
        try:
            parsed(text, self.rulebook.namespaces)
        except RulebookError as error:
            raise LostError(error.what) from None
        return text


def _kept(pattern: Pattern, position: int, check: Check) -> TranslatedRule:
    context = pattern.rules[position].context
    return TranslatedRule(check.id, check.index, "kept", check.test, check.test, check.test, context)


def _left_out(
    rulebook: Rulebook, rules: Sequence[TranslatedRule], plain: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Yield the rules whose context names a recoded field, and behind which no check stays as it is written."""
    changed = {rule.index for rule in rules if rule.changed}
    for at, pattern in enumerate(rulebook.patterns):
        for position, rule in enumerate(pattern.rules):
            behind = (check.index for later in pattern.rules[position:] for check in later.checks)
            try:
                nodes = written_tree.walk(parsed(rule.context, rulebook.namespaces))
            except RulebookError:
                continue
            named = {
                f"{'@' if one.axis == 'attribute' else ''}{one.test.local}"
                for one in nodes
                if isinstance(one, Step) and isinstance(one.test, NameTest)
            }
            if named.intersection(plain) and changed.issuperset(behind):
                yield at, position
