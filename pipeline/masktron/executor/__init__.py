"""Pure functions over ordered, numbered slices: in this process, in local processes, or on a Dask cluster.

Begin with `contract.Executor`, and with `which.executor_of`, which makes one; `run_parts` keeps what a run has
finished where the next one finds it. What is computed is nobody's business here, and no data are read: the package
imports nothing that knows records or rules.
"""
