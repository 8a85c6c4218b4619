"""The page of one decision: everything that is recorded of it, with the figures of the JSON."""

from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.api.http.posts import fresh, get, recorded, reviewed, thought
from tests.api.http.posts import post as append
from tests.api.pages import shown_ledgers
from tests.api.pages.page_requests import read_json, read_page

HTML_BYTES_MAX = 200_000
HOSTILE = "<script>alert(1)</script> \u202egnp.exe </td></tr></main> {{ 7*7 }} \"'>&\x00\u200b"
RICH = {**shown_ledgers.RICH, "line": 41}


def test_everything_recorded_is_shown(client: httpx.Client) -> None:
    name, older, newer = fresh(), fresh(), fresh()
    position = append(client, recorded(name, **RICH) | {"correlationid": "req-7"})["position"]
    append(client, recorded(older, decision="The first attempt"))
    append(client, recorded(newer, decision="The next attempt"))
    append(client, thought(name, "Expire the rows."))
    append(client, {"type": "decision.amended.v1", "data": {"decision_id": name, "confidence": 0.78}})
    append(client, {"type": "decision.asked.v1", "data": {"decision_id": name, "question": "where sessions live"}})
    review = {"actual_result": "The queue stalled once.", "lessons": "Alert on age.", "affected_kpis": {"p99": -210.5}}
    append(client, reviewed(name, "partial", **review))
    for source, target, kind in (
        (name, older, "supersedes"),
        (newer, name, "supersedes"),
        (name, "elsewhere", "depends_on"),
    ):
        link = {"source_id": source, "target_id": target, "edge_type": kind, "weight": 0.7, "context": "Why they join"}
        append(client, {"type": "decision.linked.v1", "data": link})
    page = read_page(client, f"/ui/decisions/{name}")
    words = page.text
    for text in (
        "Move the session store to Redis", "Reads are 40% of the load.", "Keep disposable data apart.",
        "Profiles say so.", "It fits.", "What is slow?", "Lookups.", "Profile of Tuesday", "grafana",
        "Reads outnumber writes.", "uses i1", "1,200 ms", "5,400 ms in all", "A queue in front", "Fast reads",
        "5 s of lag", "Expire the rows.", "where sessions live", "The queue stalled once.", "Alert on age.", "-210.5",
        "#812", "shop/sessions.py:41", "The first attempt", "The next attempt", "elsewhere", "not in this ledger",
        "Why they join", "Superseded by", "supersedes this", "depends on",
    ):  # fmt: skip
        assert text in words, text
    state = read_json(client, page.links["JSON"])
    assert state["decision"]["confidence"] == 0.78
    assert "confidence 0.78" in words
    history = {row[0]: row[1:] for row in page.cells() if row[0].replace(",", "").isdigit()}
    assert [int(position.replace(",", "")) for position in history] == [each["position"] for each in state["history"]]
    assert [row[2].split()[0] for row in history.values()] == ["recorded", "thought", "amended", "question", "reviewed"]
    for entry in state["history"]:
        assert page.links[f"{entry['position']:,}"] == f"/ui/log/{entry['position']}"
    assert page.links["save the receipt"] == f"/events/{position}/receipt"
    assert page.links["check it here"] == f"/ui/proof?position={position}"
    assert client.get(page.links["save the receipt"]).status_code == 200
    assert f'data-live="subject=decision%2F{name} type=decision.linked.v1#{name}"' in page.html
    for tag in RICH["tags"]:
        assert page.links[tag] == f"/ui/decisions?tag={tag}"
        assert name in read_page(client, page.links[tag]).html
    assert "correlationid=req-7" in page.links["all under its correlation id"]


def test_its_figures_are_those_of_the_json(client: httpx.Client, agent: str) -> None:
    """The outcomes of similar decisions with n and interval, and the links."""
    for number in range(30):
        other = recorded(f"{agent}-{number}", confidence=0.8, category="tooling", stakes="low")
        append(client, other | {"source": f"/agents/{agent}"})
        append(client, reviewed(f"{agent}-{number}", "success" if number % 3 else "failure"))
    page = read_page(client, f"/ui/decisions/{agent}-3")
    advice = read_json(client, page.links["These figures as JSON"])
    assert advice["reviewed"] == 30
    words, (low, high) = page.text, advice["interval"]
    assert f"{advice['success']:.0%} came out well ({low:.0%} to {high:.0%}), n=30" in words
    assert advice["message"] in words
    gap, (low, high) = advice["gap"], advice["gap_interval"]
    assert f"{gap:+.3f} ({low:+.3f} to {high:+.3f}, 95%)" in words
    assert "0.00 of 1" in words, "its text, pattern, tags and so on are missing"
    assert page.links["Search for similar decisions"].startswith("/ui/decisions?search=ship+it&retrieval_mode=hybrid")
    read_page(client, page.links["Search for similar decisions"])


def test_its_links_are_drawn_and_listed(client: httpx.Client) -> None:
    name = fresh()
    append(client, recorded(name, decision=HOSTILE))
    for number in range(40):
        data = {
            "source_id": name,
            "target_id": f"{name}-{number}",
            "edge_type": "relates_to",
            "weight": (number + 1) / 40,
        }
        append(client, {"type": "decision.linked.v1", "data": data})
    page = read_page(client, f"/ui/decisions/{name}")
    graph = read_json(client, page.links["Links as JSON"])
    listed = [row[1] for row in page.cells() if row[0].startswith("relates to")]
    assert listed == [f"{link['target_id']} not in this ledger" for link in graph["links"]]
    assert f"{graph['total'] - len(listed)} more links" in page.text
    drawing = client.get(page.links["SVG"])
    assert drawing.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in drawing.headers["content-security-policy"]
    assert "<title" in drawing.text
    assert "<desc>" in drawing.text
    assert "and 32 more" in drawing.text
    assert "<script>" not in drawing.text
    assert ET.fromstring(drawing.content).tag.endswith("svg")
    alone = fresh()
    append(client, recorded(alone))
    assert client.get(f"/ui/decisions/{alone}/figures/links.svg").status_code == 200
    assert client.get("/ui/decisions/nowhere/figures/links.svg").status_code == 404


def test_an_earlier_position_is_shown_as_it_was(client: httpx.Client) -> None:
    name = fresh()
    then = append(client, recorded(name, confidence=0.9))["position"]
    append(client, reviewed(name, "failure"))
    page = read_page(client, f"/ui/decisions/{name}?as_of={then}")
    assert "no review yet" in page.text
    assert f"as_of={then}" in page.links["JSON"]
    assert "data-live" not in page.html
    assert not [form for form in page.forms if "event_id" in form.fields], "the past is not reviewed"
    assert "by anonymous" in read_page(client, f"/ui/decisions/{name}").text


def test_a_retracted_decision_says_so(client: httpx.Client) -> None:
    name = fresh()
    append(client, recorded(name))
    append(client, {"type": "decision.retracted.v1", "data": {"decision_id": name, "reason": "recorded twice"}})
    page = read_page(client, f"/ui/decisions/{name}")
    assert "recorded twice. It counts in no figure." in page.text
    assert not [form for form in page.forms if "event_id" in form.fields]


def test_an_unknown_decision_is_an_error_page(client: httpx.Client) -> None:
    assert "Decision not found: nowhere" in read_page(client, "/ui/decisions/nowhere", 404).text
    assert "<script>" not in read_page(client, "/ui/decisions/%3Cscript%3E", 404).html
    name = fresh()
    append(client, recorded(name, decision="found by its beginning"))
    assert "found by its beginning" in read_page(client, f"/ui/decisions/{name[:12]}?prefix=true").text


def outline(html: str) -> list[str]:
    """The elements of a page in order, without those of texts."""
    names = (piece.split(">")[0].split(" ")[0] for piece in html.split("<")[1:])
    return [name for name in names if "option" not in name]


@pytest.mark.parametrize("path", ["/ui/decisions/{}", "/ui/decisions?agent={}", "/ui/reviews?agent={}"])
def test_hostile_texts_change_nothing_else(client: httpx.Client, agent: str, path: str) -> None:
    """A page with hostile texts has the elements of one with plain texts."""
    shown = []
    for label, text in (("plain", "a plain text of some length"), ("evil", HOSTILE)):
        name = f"{agent}-{label}"
        data = {
            "context": text,
            "category": text[:100],
            "project": text[:100],
            "tags": [text[:90], "t"],
            "pattern": text,
        }
        reasons = {"reasons": [{"type": "analysis", "text": text}], "bridge": {"structure": text}}
        append(client, recorded(name, decision=text, **data, **reasons) | {"source": f"/agents/{name}"})
        append(client, thought(name, text) | {"source": f"/agents/{name}"})
        shown.append(read_page(client, path.format(name)))
    plain, evil = shown
    assert [tag for tag in outline(evil.html) if tag != "option"] == [
        tag for tag in outline(plain.html) if tag != "option"
    ]
    assert "<script>" not in evil.html
    assert "\u202e" not in evil.html
    assert "[U+202E]" in evil.text
    assert "{{ 7*7 }}" in evil.text


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["x", "<", "\u202e", "\U0001f680", "\n", '"'])
def test_long_texts_are_folded_and_cut(client: httpx.Client, agent: str, letter: str) -> None:
    """Events of the largest size: the page stays below its size, and the rest of it is there."""
    name, escaped = fresh(), {"\n": 2, '"': 2}.get(letter, len(letter.encode()))
    source = {"source": f"/agents/{agent}"}
    append(client, recorded(name, decision="y" + letter * (60_000 // escaped)) | source)
    for field in ("context", "pattern"):
        change = {"decision_id": name, field: letter * (60_000 // escaped)}
        append(client, {"type": "decision.amended.v1", "data": change} | source)
    parts = [{"type": "analysis", "text": letter * (600 // escaped)} for _ in range(90)]
    append(client, {"type": "decision.amended.v1", "data": {"decision_id": name, "reasons": parts}} | source)
    for _ in range(50):
        append(client, thought(name, "y" + letter * (60_000 // escaped)) | source)
    for path in (f"/ui/decisions/{name}", f"/ui/decisions?agent={agent}", f"/ui/reviews?agent={agent}"):
        page = read_page(client, path)
        assert len(page.html.encode()) < HTML_BYTES_MAX, path
    page = read_page(client, f"/ui/decisions/{name}")
    assert "characters" in page.text
    assert "60 more are in the JSON" in page.text
    assert "The latest 30 of 50." in page.text
    assert "save the receipt" in page.links
    assert len(get(client, f"/decisions/{name}")["decision"]["reasons"]) == 90
