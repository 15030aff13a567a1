"""What expressions say of one record: `reader` takes the tree of an expression there, `contexts` that of a rule's.

Begin with `nodes`, which says what can be said, and how that differs from the tree.
"""
