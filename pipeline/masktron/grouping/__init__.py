"""Groups of at least k records in which the rules survive aggregation, and mixed groups for what is left.

Begin with `record_groups`: records that nothing bridges are parted, `admissible` forms groups within each part,
`mixed` takes the rest. What the records of a group have to share is in `disjuncts`.
"""
