"""Whether a released file can be what its manifest declares: nothing here is shared with what treats and masks.

Begin with `declared_steps.verify_steps`, which asks each treatment in turn; each kind has one module with a function
`verify`. Of masking, `records` compares what is to be as it was, `groups` counts who is alike, and `method_contract`
tests what a method promises, on records that `pairing` puts side by side. They know the types of the manifest,
records and the engines that judge rules, and may import nothing of `jobs`, `treatments`, `translation` and `masking`:
an error there would verify itself.
"""
