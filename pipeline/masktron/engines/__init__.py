"""Processes of engines that are not ours: begin with `saxon`, which asks a process of its own (`engine_process`)."""
