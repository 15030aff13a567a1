"""Checks across records: `planned` says what they read of other records, `two_passes` gathers it and judges by it."""
