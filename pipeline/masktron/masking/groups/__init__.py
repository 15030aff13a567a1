"""The groups of a partition of the plan; begin with `strata`: what parts records, and what ties them."""
