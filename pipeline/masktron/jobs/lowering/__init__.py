"""The first step of a run: records of nested files are lowered to flat ones, and what comes of these is taken back.

Begin in `lower`: it returns a job on flat records, and what takes results back, `Flat` or `Lowered`. `wide_settings`
says of wide fields what settings say of fields; `level_figures` measures level by level. Only here is asked whether
records are wide.
"""
