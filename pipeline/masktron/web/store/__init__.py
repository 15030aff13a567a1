"""Projects on disk, for their owner alone: files, settings, history with undo, and how much room they take.

Begin with `projects`. A project is a folder that the command line works in as well; `disk` alone writes there.
"""
