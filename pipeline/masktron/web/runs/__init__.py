"""Runs: commands of masktron as processes, in a folder each, which outlive the server.

`one_run` is a run as its folder tells it, `run_queue` starts what waits, `run_process` is the small program that
starts the command, waits for it and writes how it ended; nothing but the standard library is loaded there.
"""
