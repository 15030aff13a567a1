"""Rules in plain text: `reading` makes trees of them, `compiled` a rulebook for the records of a file."""
