"""From the groups of one block to its prototypes; begin with `joint_search`, which has the stages in their order."""
