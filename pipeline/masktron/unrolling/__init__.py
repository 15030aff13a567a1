"""Rules of nested records as rules of flat ones.

Households with the same number of members of each kind are a flat table of *wide records*: the household's own
fields, and those of its members position by position. `wide` says which fields a wide record has, `unrolled` what
the rules of the nested file say of it. Both may be read by everything that knows flat records alone.
"""
