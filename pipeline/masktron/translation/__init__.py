"""Rules of a file translated to the file in which fields are recoded.

What is known of a recoded value is its class. A rule R becomes the rule R' that holds of a recoded record if and only
if the values of its classes can be chosen so that R holds: the strongest one that no correct record breaks.

Begin with `rule_translation`, which takes a rulebook; `recoded_conditions` puts classes in the place of one field,
`truth_trees` has the conditions on which it works, `recoded_spelling` writes them, and `translated_rules` writes
the rulebook.
"""

from __future__ import annotations

from masktron.translation.rule_translation import translated
from masktron.translation.translated_rules import Fate, TranslatedRule, Translation

__all__ = ["Fate", "TranslatedRule", "Translation", "translated"]
