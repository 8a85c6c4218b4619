"""The report in a real browser, on a screen as wide as a phone's: what is drawn can be read."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from api.reports import html_page
from tests.api.reports.fixed_evaluations import ALONE

pytestmark = pytest.mark.slow

PHONE_PX = 375
LABEL_PX_MIN = 10

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

MEASURE = """
<iframe src="report.html" style="border: 0; width: PHONEpx; height: 3000px"></iframe><pre id="measured"></pre>
<script>
document.querySelector("iframe").onload = ({target}) => {
  const page = target.contentDocument, style = (node) => target.contentWindow.getComputedStyle(node);
  const shown = (node) => node.getBoundingClientRect().width > 0;
  measured.textContent = JSON.stringify({
    labels: [...page.querySelectorAll(".chart text")].filter(shown).map((text) => ({
      text: text.textContent, px: parseFloat(style(text).fontSize) * text.getScreenCTM().a,
      left: text.getBoundingClientRect().left, right: text.getBoundingClientRect().right})),
    width: page.documentElement.scrollWidth,
    legend: page.querySelector(".legend").textContent,
    dot: style(page.querySelector(".chart .here")).fill,
    key: style(page.querySelector(".legend .here")).fill,
    forbidden: style(page.querySelector(".bad mark")).backgroundColor,
    found: style(page.querySelector(".good mark")).backgroundColor,
    banner: page.querySelector(".judgement").textContent,
  });
};
</script>
""".replace("PHONE", str(PHONE_PX))


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP; its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
            """A test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def measured(folder: Path) -> Mapping[str, Any]:
    """What the browser has measured of the report in a folder."""
    assert BROWSER is not None
    (folder / "measure.html").write_text(MEASURE)
    with serving_files(folder) as url:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom")
        words = [BROWSER, *options, f"--user-data-dir={folder / 'profile'}", f"{url}/measure.html"]
        page = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.search('<pre id="measured">(.+?)</pre>', page, re.DOTALL)
    assert found is not None, page
    figures: Mapping[str, Any] = json.loads(html.unescape(found[1]))
    return figures


@pytest.mark.trial("A15")
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed here: apt-get install chromium")
def test_a_phone_shows_the_report_so_that_it_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(html_page(ALONE), encoding="utf-8")
    figures = measured(tmp_path)
    assert [label["text"] for label in figures["labels"]][:5] == ["0", "25", "50", "75", "100"]
    assert all(label["px"] >= LABEL_PX_MIN for label in figures["labels"])
    assert all(0 <= label["left"] < label["right"] <= PHONE_PX for label in figures["labels"])
    assert figures["width"] <= PHONE_PX
    assert "the version of this report" in figures["legend"]
    assert figures["dot"] == figures["key"]
    red, green, _ = rgb(figures["forbidden"])
    assert red > green
    red, green, _ = rgb(figures["found"])
    assert green > red
    assert figures["banner"].startswith("Not all passed")


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", colour)))
