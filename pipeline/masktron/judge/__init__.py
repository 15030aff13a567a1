"""Which records obey which checks, by engines and over columns.

Begin with `request`, which says what is asked. `tiered.evaluate` answers it in the fastest way; in `exact.evaluate`
an engine sees every record; `second_opinions.ask` has engines count that are not ours.
`columns` evaluates without an engine, `across` makes checks on several records checks on one, and `recount` has
engines find out what these need. This file imports nothing: a process that serves one engine loads a part of it all.
"""
