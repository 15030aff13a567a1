"""``python -m masktron``."""

from masktron.cli import main

main()
