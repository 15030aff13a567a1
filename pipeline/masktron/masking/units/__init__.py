"""Records that are masked part by part, where all of them together do not fit: `unit_parts`, then `by_units`."""
