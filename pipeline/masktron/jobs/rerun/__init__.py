"""A run done again on another file or on the same one, and shown beside the last time.

Begin with `repeating.run_rerun`. `facts` has what a repetition depends on: one declaration, `facts.RunFacts`, is made
of a run, written into its manifest, read back from it, and made of the next file. `changes` compares two of them, and
says which changes stand in the way. Who masks writes the facts and knows nothing else of this package.
"""
