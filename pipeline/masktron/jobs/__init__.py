"""The jobs, one `run_NAME` each: validate, explain, mask, check, assess, combine, demo, doctor.

Begin with `mask.run_mask`, which reads as the stages of a run; `job.open_job` is what all but the last three do
first. This package alone knows the order of things.
"""
