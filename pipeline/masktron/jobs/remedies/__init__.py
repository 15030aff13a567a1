"""What helps where `mask` is refused: which remedies suit the reason, and what each of them does when it is tried.

Begin with `on_refusal.run_mask_or_suggest`. `suited` makes remedies of the facts of a refusal, in the order of what
they cost, its own and those of `group_remedies`, `field_remedies` and `key_remedies`; `trying` runs
them on the records in memory, with the bench of `tune`.
"""
