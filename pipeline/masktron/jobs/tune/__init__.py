"""The risk-utility map: candidates run by the real pipeline, without writing, within a budget; and the choice.

Begin with `tuning.run_tune`. `asked` says what a user may ask for, with `axes` of treatments of keys; `recipes` which
candidates there are, with which treatments and in which order; `bench` runs one, `sampling` draws the records that
large files are compared on, `outcomes` keeps results for a run that goes on. `trials` is one run, says what the map
cannot tell, and passes on the map of a run that goes on; `schedule` and `helper` share the work within the budget,
`tried` has what is known of a candidate, `choosing` the front and the recommendation. `settings_text` writes the
settings of a candidate, in a text that is there (`masktron.toml_text`).
"""

FOLDER = "tune.cache"
"""Where results are kept, in the folder of the output."""
RESULT = "tune.json"
"""In the folder of the output."""
