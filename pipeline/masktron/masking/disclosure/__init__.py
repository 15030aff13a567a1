"""What the prototypes of a block publish of single records; begin with `exposure`; `cap` refuses."""
