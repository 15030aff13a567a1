"""Treatments of keys before numbers are masked: arrays of codes and callables in, arrays of codes out.

Each module is one treatment and begins with the function of its name; none knows a rule or a file.
"""
