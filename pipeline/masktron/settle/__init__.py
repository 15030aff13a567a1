"""Settle: from the aggregate of a group to lexemes that every rule accepts, without knowing the file as a whole.

Begin with `prototypes`, which offers candidates to the judge until every group has one; `candidate_search` makes them
for a group, `bulk` and `case_projection` for many at once. All of them are points of grids (`grid`, `decimals`) that
solve the equalities (`system`) and obey what is left of the rules (`residual`, `residual_rules`).
"""
