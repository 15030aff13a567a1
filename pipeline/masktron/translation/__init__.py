"""Rules of a file translated to the file in which fields are recoded.

What is known of a recoded value is its class. A rule R becomes the rule R' that holds of a recoded record if and only
if the values of its classes can be chosen so that R holds: the strongest one that no correct record breaks.

Begin with `rule_translation`, which takes a rulebook; `recoded_conditions` puts classes in the place of one field,
`truth_trees` has the conditions on which it works, `recoded_spelling` writes them, and `translated_rules` writes
the rulebook. `rules_by_level` translates the rules of nested files, whose records stand in others.
"""

from __future__ import annotations

from masktron.translation.rule_translation import names_read, translated
from masktron.translation.rules_by_level import LevelRules, rules_of_level, translated_by_level
from masktron.translation.translated_rules import Fate, TranslatedRule, Translation

__all__ = [
    "Fate",
    "LevelRules",
    "TranslatedRule",
    "Translation",
    "names_read",
    "rules_of_level",
    "translated",
    "translated_by_level",
]
