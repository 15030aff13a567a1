"""How the site is made of these pages: `make docs`. All that it needs is in the folder that is written."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from pygments.lexers.webmisc import XQueryLexer
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "masktron"
author = "The masktron developers"
project_copyright = "The masktron developers. GPL-3.0-or-later"
release = version = version_of("masktron")
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "mathml_renderer",
    "page_sources",
    "generated_pages",
    "accessible_pages",
]
exclude_patterns = ["_extensions", "_static", "figures", "jupyter_execute", "**.ipynb_checkpoints"]
source_suffix = {".md": "myst-nb"}

# Markdown as it is read on a code host: formulas, anchors of headings, alerts
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
suppress_warnings = ["myst.header"]  # a part of a page may begin at the third level

# notebooks are run whenever the site is built, and a cell that fails fails the build
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_output_stderr = "remove"
nb_merge_streams = True

smartquotes = False
python_maximum_signature_line_length = 60
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

nitpicky = True
# types of other packages, and of ours that have no entry: their pages are not part of this site
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "pydata_sphinx_theme"
html_title = "masktron"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch pages, which browsers refuse to a site that is opened from a disk
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "masktron"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_context = {"default_mode": "auto"}

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"


def setup(app: Sphinx) -> None:
    """Colour XPath as the language that it is a part of."""
    app.add_lexer("xpath", XQueryLexer)
