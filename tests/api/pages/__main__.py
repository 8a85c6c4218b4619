"""`python -m tests.api.pages`: renew the screenshots of the manual, docs/images/page-*.png."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.api.pages.shown_ledgers import shown_realistic
from tests.support.palette_png import with_palette
from tests.support.paths import ROOT

IMAGES = ROOT / "docs" / "images"
SIZE = (1100, 700)

SCREENSHOTS: Mapping[str, tuple[str, str]] = {
    "page-overview": ("light", "/ui"),
    "page-calibration": ("light", "/ui/calibration?agent=scout"),
    "page-evaluations": ("dark", "/ui/evaluations/compare?baseline=base&candidate=next"),
}
"""The name of each image, with the scheme of colours and the address."""


def main() -> int:
    """Take every screenshot, and write those that have changed."""
    with tempfile.TemporaryDirectory(prefix="tallystick-pages-") as folder, shown_realistic(Path(folder)) as browser:
        browser.resize(SIZE)
        for name, (scheme, address) in SCREENSHOTS.items():
            browser.prefer(scheme)
            browser.open(address)
            taken = Path(folder) / f"{name}.png"
            browser.screenshot(taken)
            small = with_palette(taken.read_bytes())
            (IMAGES / taken.name).write_bytes(small)
            print(f"{taken.name}: {len(small):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
