"""Nested records: which levels a file has, and their records as tables."""
