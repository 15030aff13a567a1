"""Rules that the records of a file suggest: arrays in, candidates with their evidence out; nothing is written here.

Begin with `suggesting`, which asks each kind of rule in turn. `profiles` says what a field holds, exactly;
`additive` (with `long_totals`), `orders`, `governed` and `single_field` find rules; `implications` leaves out what
follows step by step; `candidate` says which exceptions a rule may have and has the XPath, and
`written_rulebook` the Schematron.
"""
