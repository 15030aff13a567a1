"""Values of its own for every record, where a method draws; begin with `perturbing`."""
