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

extensions = ["myst_parser"]
exclude_patterns = ["_build", "_generate"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Tallystick {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sphinx = False
html_show_copyright = False
