"""Rules across records of large files, judged by engines that are not ours over aggregates that are computed anew.

`masktron.judge.across` decides such rules: it reads columns, gathers aggregates, and puts them into the rules.
Here each engine reads the records with its own parser (`field_values`), aggregates are computed from what it read
by Arrow and plain dictionaries (`aggregates`), records carry them as attributes, and the engine evaluates the
rewritten rules on every record. Nothing of that is shared with `across`: not the reader of columns, not the kernels,
not the tables of keys, not the sums.

The plan is shared: which aggregate a part of an expression is, and how a rule is rewritten
(`masktron.judge.across.planned`). So it is tried each time (`sample`): the engine judges a document of some
hundred records of the file, chosen so that keys occur twice and are missing, with the rules as they are written and
as they are rewritten, and at every node each part of an expression that was replaced has to equal its replacement.

Begin with `masktron.judge.recount.recount.Recount`, which says what engines are asked and puts together what they
answer; `masktron.judge.slice_tasks` asks them. It may import what `masktron.judge` may, and of `across` what plans
and rewrites.
"""
