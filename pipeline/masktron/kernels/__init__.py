"""Loops over records and cells: plain numpy, and compiled code for many. Arrays in, arrays out.

Begin with `compiling`: a kernel is imported like any function, and compiled when it is called first. `kept` is where
compiled forms lie, `ready` and `warm` compile ahead. Where two modules have one task (`mst`, `mst_prim`), the first
is called; it holds the plain form, with which the compiled one is tested.
"""
