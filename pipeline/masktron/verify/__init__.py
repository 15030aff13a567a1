"""Whether a released file can be what a manifest declares of its treatments: nothing here is shared with what treats.

Begin with `declared_steps.verify_steps`, which asks each step in turn; each kind of step has one module with one
function `verify`. They know the types of the manifest, records and the engines that judge rules, and may import
nothing of `jobs`, `treatments` and `translation`: an error there would verify itself.
"""
