"""The four jobs: validate, explain, mask, check."""
