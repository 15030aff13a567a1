"""Rules of nested files over columns: units of one composition are a table of wide records.

`unit_program` finds the units that are composed alike in a batch, and evaluates the unrolled rules on their wide
records, as a program of the rules as they are written.
"""
