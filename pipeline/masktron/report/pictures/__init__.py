"""Pictures: frozen data that draw themselves on an Axes of matplotlib, and SVG of them for pages.

Begin with `canvas`, which has what all of them share and turns one into SVG with text as text. A module for each kind
of picture; none knows a result or a page. Colours are its variables, so that a page can change them at night.
"""
