#!/usr/bin/env python3
"""Write a report into one comment on a pull request, and update that comment later.

    python3 comment.py REPORT.md

The pull request is the open one of HEAD_OWNER and HEAD_BRANCH whose head is HEAD_SHA. If none is open (closed, or
pushed again since), nothing is written. The report is untrusted text: it is cut to the size of a comment and mentions
nobody.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

MARK = "<!-- tallystick evaluations -->"
AUTHOR = "github-actions[bot]"
CHARACTERS_MAX = 65_536


def call(method: str, path: str, body: dict[str, str] | None = None) -> Any:  # noqa: ANN401
    """Call GitHub's API for this repository and return its answer. Errors: urllib.error.HTTPError."""
    address = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}"
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, content, headers, method=method), timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def pull_request() -> int | None:
    """Return the number of the pull request that was evaluated."""
    head = f"{os.environ['HEAD_OWNER']}:{os.environ['HEAD_BRANCH']}"
    found = call("GET", "pulls?" + urlencode({"state": "open", "head": head}))
    return next((int(each["number"]) for each in found if each["head"]["sha"] == os.environ["HEAD_SHA"]), None)


def comment_on(number: int) -> int | None:
    """Return the id of our existing comment."""
    for page in range(1, 100):
        found = call("GET", f"issues/{number}/comments?per_page=100&page={page}")
        for each in found:
            if each["user"]["login"] == AUTHOR and each["body"].startswith(MARK):
                return int(each["id"])
        if len(found) < 100:
            break
    return None


def text_of(report: Path) -> str:
    """Return the text of the comment."""
    if not report.is_file():
        return f"{MARK}\nThe evaluation broke off before it had a report: {os.environ['RUN_URL']}"
    written = report.read_text(encoding="utf-8", errors="replace").replace("@", "@\N{ZERO WIDTH SPACE}")
    text, more = f"{MARK}\n{written}", f"\n\n... and more: {os.environ['RUN_URL']}"
    return text if len(text) <= CHARACTERS_MAX else text[: CHARACTERS_MAX - len(more)] + more


def main() -> None:
    """Create or update the comment."""
    number = pull_request()
    if number is None:
        print("No open pull request has that commit as its head; nothing was written.")
        return
    body, comment = {"body": text_of(Path(sys.argv[1]))}, comment_on(number)
    if comment is None:
        call("POST", f"issues/{number}/comments", body)
    else:
        call("PATCH", f"issues/comments/{comment}", body)
    print(f"Commented on pull request {number}.")


if __name__ == "__main__":
    main()
