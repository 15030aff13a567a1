"""Rules over whole batches of records: which checks hold, and which records an engine has to decide.

`program` compiles a rulebook: begin there, then read `items`, the values that an expression has in all records of a
batch, and `expressions`, the walk over the tree. `xpath1` and `xpath2` say in what the two dialects differ; a module
that only one of them uses begins with its name, and the others are for both. Nothing here asks an engine.
"""
