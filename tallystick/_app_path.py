"""Finds the application's packages (`api`, `events`, `instruments`, `ledger`, `projections`) and makes them importable.

Other projects may have packages with these names. So an installed wheel keeps ours in `tallystick/_app/`, where no
import finds them, and only our own processes (the command, the pytest plugin's worker) add that folder to their path.
"""

import sys
from pathlib import Path


def app_folder() -> Path:
    """Return the folder of the application's packages: `_app` in an installed wheel, the repository in a checkout."""
    installed_folder = Path(__file__).with_name("_app")
    return installed_folder if installed_folder.is_dir() else installed_folder.parents[1]


def use_app() -> None:
    """Put the application's folder first on the import path, before any package of the same name."""
    sys.path.insert(0, str(app_folder()))
