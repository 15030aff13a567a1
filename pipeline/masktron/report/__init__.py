"""Results and findings for people and for other programs.

`rendering` prints a result; `tables` has a module for each, and `shared_tables` makes those that terminal and pages
have alike. `outputs` writes the findings of a validation as they come; `formats` has a module for each file format.
`verdict` and `sentences` put a masked file into words, `wording` rules and findings; `watch` shows what a run is
doing. Reports read results and import no job.
"""
