"""Loops over records and cells: plain numpy, and compiled code for many. Arrays in, arrays out.

Begin with `compiling`: a kernel is imported like any function, and compiled when it is called first. `kept` is where
compiled forms lie, `ready` and `warm` compile ahead. Where few records have a plain form (`univariate`), it is the
one with which the compiled form is tested.
"""
