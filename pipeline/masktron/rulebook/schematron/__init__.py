"""Schematron files to rulebooks: begin with `reader`; it calls inclusions, vocabulary, structure, and resolves."""
