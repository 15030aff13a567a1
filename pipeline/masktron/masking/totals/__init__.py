"""Counts and totals over the file that the rules ask for, kept by moving prototypes; begin with `repair`."""
