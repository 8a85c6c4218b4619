"""How Sphinx builds the manual: `make docs`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs._generate.insert import setup  # Sphinx calls it

__all__ = ["setup"]

project = "Tallystick"
author = "the Tallystick contributors"
release = version = version_of("tallystick")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_generate"]
myst_heading_anchors = 4

default_role = "code"  # a docstring writes `name` for code, as Markdown does
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
toc_object_entries = False  # hundreds of entries that every page's navigation would copy
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages have no page here; links between pages stay checked

html_theme = "furo"
html_title = f"Tallystick {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sphinx = False
html_show_copyright = False
