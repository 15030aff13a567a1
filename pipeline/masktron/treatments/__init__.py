"""Treatments: what is done to keys before numbers are masked. Pure parts: codes and callables in, codes out.

Each module is one treatment; none knows a rule or a file.
"""
