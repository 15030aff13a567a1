"""What can be said of a rulebook before it meets data, and what data test of it."""
