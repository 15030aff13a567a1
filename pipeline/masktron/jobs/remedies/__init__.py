"""What helps where `mask` is refused: which remedies suit the reason, and what each of them does when it is tried.

Begin with `on_refusal.run_mask_or_suggest`. `suited` makes remedies of the facts of a refusal, in the order of what
they cost, of those that `group_remedies`, `field_remedies`, `key_remedies` and `rule_remedies` have; `trying` runs
them on the records in memory, with the bench of `tune`.
"""
