"""masktron in a browser: pages that are views of the commands, and of folders that the commands read too.

The server computes nothing. What a page asks for is a run: a process of the command line in the folder of its
project, which goes on when the server ends. So this package imports no job, and none of numpy, pandas, pyarrow, numba
and lxml (``tests/web/test_web_light.py``); and nothing that the command line cannot do happens here.

Begin with `server`, which puts the parts together, and with `web_page`, what a page is. ``handlers/`` turns requests
into visits and what pages return into answers, ``access/`` decides who may ask for what, ``store/`` has projects on
disk (files, settings, history, room), ``runs/`` has commands as processes, ``pages/`` a module for each page, with
its template in ``templates/``.

A page is a `web_page.WebPage` in a line of `pages.all_pages.PAGES`:

- its ``show(visit, project)`` returns what its template gets; the template extends ``project.html`` and has its
  forms from ``forms.html``, so that each has its token and shows errors at the field that caused them;
- its ``actions`` are what its forms may ask for, by name: each gets the form and returns where to go next, or raises
  a `MasktronError`, which is then shown at the input that its problem is about;
- ``visit.start(project, kind, arguments)`` starts a run of a kind (`runs.run_kinds`) and returns it at once;
  ``visit.path_of_run(run)`` is its page;
- ``project.settings`` reads and writes ``masktron.toml``, ``project.write`` all that has a history and can be undone;
- ``take`` of a page gets what was uploaded there, and says what it is.

docs/web-development.md shows one from its first line to its test.
"""
