"""Rules on and across the levels of a nested file, brought to forms over what they read of a record and its members.

Begin with `across_edits`, which takes a check to its edit. `tree_reader` writes an expression as one on a flat record
of *figures*: single fields of records on the way up, and figures over members (their number, the sum of a field), of
which `member_figures` says what they are. That is classified like any other expression, and `member_figures` writes
it with the names of the levels. May import `masktron.classify` and what stands before it.
"""
