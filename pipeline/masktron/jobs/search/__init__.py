"""The search for settings: candidates run by the real pipeline, without writing, within a time; and the choice.

A candidate is settings by name, with what came of it. Begin with `bench`, which runs one and decides when records are
judged again. Two makers feed it: `grid`, of what was asked for (`asked`, with `axes` of treatments of keys), and
`remedies`, of the facts of a refusal. `tuning.run_tune` is the risk-utility map, and `refusal.run_mask_or_suggest`
what helps where `mask` is refused. `trials` is one run of the map; `schedule` and `helper` share its work within the
budget, `sampling` draws the records that large files are compared on, `outcomes` keeps results for a run that goes
on, `choosing` finds the front and the recommendation, and `settings_text` writes the settings of a candidate.
"""

FOLDER = "tune.cache"
"""Where results are kept, in the folder of the output."""
RESULT = "tune.json"
"""In the folder of the output."""
