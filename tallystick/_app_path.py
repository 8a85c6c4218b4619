"""Where the application's own packages are: `api`, `events`, `instruments`, `ledger` and `projections`.

Other projects have packages of these names too. So an installed wheel keeps ours in `tallystick/_app/`, where no import
finds them, and only a process that is ours (the command, the pytest plugin's worker) adds that folder to its path.
"""

import sys
from pathlib import Path


def app_folder() -> Path:
    """The folder that holds the application's packages: `_app` in an installed wheel, the repository in a checkout."""
    packed = Path(__file__).with_name("_app")
    return packed if packed.is_dir() else packed.parents[1]


def use_app() -> None:
    """Put the application's folder first on this process's path, before any package of the same name."""
    sys.path.insert(0, str(app_folder()))
