"""Drawings as files: a browser applies their own style, and nothing else."""

from base64 import b64encode
from hashlib import sha256

from api.http.pages.page_figure import drawing_response
from api.reports.plots.svg import STYLE, draw_page


def test_policy_allows_exactly_the_style_of_the_drawing() -> None:
    answer = drawing_response(draw_page(100, "A title", []))

    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    assert answer.media_type == "image/svg+xml"
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; sandbox"
    )


def test_a_file_has_the_size_of_its_view_box() -> None:
    begins = b'<svg width="640" height="100" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 100"'
    assert drawing_response(draw_page(100, "A title", [])).body[: len(begins)] == begins
    sized = '<svg xmlns="http://www.w3.org/2000/svg" width="3" viewBox="0 0 1 2"/>'
    assert drawing_response(sized).body == sized.encode()


def test_policy_of_a_drawing_without_style_allows_none() -> None:
    answer = drawing_response("<svg xmlns='http://www.w3.org/2000/svg'/>")

    assert "style-src 'none'" in answer.headers["content-security-policy"]
