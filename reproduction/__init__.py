"""Figures of the papers beside ours: `python -m reproduction` writes docs/reproduction.md. Not part of the wheel."""
