"""Records that are masked part by part, where all of them together do not fit: `cutting`, then `by_units`."""
