"""From the groups of one block to its prototypes; begin with `settling`, which has the stages in their order."""
