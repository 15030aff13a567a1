"""The register of releases: what has been released before, and the entry of what is being released.

Begin with `registration.registration`, which stands around the publication of a release. `registration` asks whether
records are those of an earlier release; `register_file` reads and adds lines, and knows nothing of records.
"""
