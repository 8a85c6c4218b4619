"""Drawings served as files: SVG images of their own, as a page links to them."""

import re
from base64 import b64encode
from hashlib import sha256

from starlette.responses import Response

from api.http.media_types import SVG

_style = re.compile("<style>(.*?)</style>", re.DOTALL)
_box = re.compile(r'<svg (?![^>]*\bwidth=)([^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)")')


def drawing_response(svg: str) -> Response:
    """Return a drawing as a file. Its policy allows exactly the drawing's style, and nothing else.

    A file has a size, that of its view box: without one, a browser would save it as a small PNG.
    """
    sized = _box.sub(r'<svg width="\2" height="\3" \1', svg, count=1)
    hashes = [f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in _style.findall(svg)]
    styles = " ".join(hashes) or "'none'"
    policy = f"default-src 'none'; style-src {styles}; frame-ancestors 'none'; sandbox"
    return Response(sized, headers={"content-security-policy": policy, "cache-control": "no-store"}, media_type=SVG)
