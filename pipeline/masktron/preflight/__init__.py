"""What can be said of a rulebook before it meets data, and what data test of it.

Begin with `rulebook`: it asks `component` about rules that share fields, which asks `search` and `feasibility`
whether a record satisfies them together. `conclusions` is what comes out, and counts what records test.
"""
