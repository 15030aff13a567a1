"""What answers for each kind of address: `project_pages`, `run_files`.

They turn requests into visits and forms, and what a page returns into an answer; what a page shows is in ``pages/``.
"""
