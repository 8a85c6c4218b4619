"""A page of HTML as a test reads it: elements, texts, links, tables, forms and live parts. It must be well-formed."""

from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from typing import NamedTuple

VOID = frozenset({"area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"})
SELF_CLOSED = frozenset({"circle", "line", "path", "polygon", "polyline", "rect", "use"})
"""Elements of SVG, which may close themselves."""

UNSEEN = frozenset({"script", "style", "title", "desc", "datalist"})
"""Elements whose texts are not part of what a reader sees at once."""


ENDS = ".,;:?!)@"
"""What a piece of text begins with that follows another one without a space."""


class Element:
    """An element: its name, its attributes, and what is in it."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.contents: list[Element | str] = []

    def every(self, *names: str) -> Iterator["Element"]:
        """All elements in it, or those of some names, in the order of the page."""
        for each in self.contents:
            if isinstance(each, Element):
                if not names or each.name in names:
                    yield each
                yield from each.every(*names)

    @cached_property
    def pieces(self) -> list[str]:
        """The texts in it that a reader sees, without explanations of terms."""
        found: list[str] = []
        for each in self.contents:
            if isinstance(each, str):
                found += [" ".join(each.split())] if each.strip() else []
            elif each.name not in UNSEEN and each.attributes.get("class") != "tip":
                found += each.pieces
        return found

    @property
    def text(self) -> str:
        """Its pieces, each after a space, but for what ends a sentence or a part of it."""
        return "".join(each if each[0] in ENDS else f" {each}" for each in self.pieces).lstrip()

    @property
    def whole(self) -> str:
        """All text in it, as it is written."""
        return "".join(each if isinstance(each, str) else each.whole for each in self.contents)

    @property
    def cells(self) -> list[list[str]]:
        """The texts of the cells of each row in it."""
        return [[cell.text for cell in row.every("td", "th")] for row in self.every("tr")]


class ShownForm(NamedTuple):
    """A form: where it posts to, and the value of each of its fields."""

    action: str
    fields: dict[str, str]


class HtmlPage(HTMLParser):
    """A page. A tag that is not closed, or closes another, is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()
        assert self._open == [self.root], [each.name for each in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].contents.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID | SELF_CLOSED, tag
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].contents.append(data)

    # Elements and attributes

    @cached_property
    def elements(self) -> list[tuple[str, dict[str, str]]]:
        """Each tag with its attributes."""
        return [(each.name, each.attributes) for each in self.root.every()]

    @property
    def tags(self) -> set[str]:
        """The names of the elements."""
        return {tag for tag, _ in self.elements}

    @property
    def attributes(self) -> set[str]:
        """The names of the attributes."""
        return {name for _, attributes in self.elements for name in attributes}

    @property
    def ids(self) -> list[str]:
        """The ids, in the order of the page."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def attributes_of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def value(self, tag: str, attribute: str, **where: str) -> str:
        """The value of an attribute of the first element of a kind that has these other attributes."""
        for attributes in self.attributes_of(tag):
            if where.items() <= attributes.items():
                return attributes[attribute]
        raise AssertionError(f"the page lacks <{tag}> with {where}")

    # Texts and links

    @property
    def texts(self) -> list[str]:
        """The texts that a reader sees."""
        return self.root.pieces

    @property
    def text(self) -> str:
        """These texts as one."""
        return self.root.text

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of drawings."""
        return [" ".join(each.whole.split()) for each in self.root.every("desc")]

    @property
    def headings(self) -> list[int]:
        """The levels of the headings."""
        return [int(each.name[1]) for each in self.root.every("h1", "h2", "h3", "h4")]

    @property
    def links(self) -> dict[str, str]:
        """The address of each link by its text; of equal texts, the last."""
        return {each.text: each.attributes["href"] for each in self.root.every("a") if "href" in each.attributes}

    @property
    def addresses(self) -> list[str]:
        """The addresses of all links."""
        return [given["href"] for given in self.attributes_of("a") if "href" in given]

    @property
    def current(self) -> list[str]:
        """The addresses of the links that are marked as what is shown."""
        return [given["href"] for given in self.attributes_of("a") if "aria-current" in given]

    @property
    def live(self) -> str | None:
        """The queries of the events after which the page is loaded again."""
        return self.root_of("body").attributes.get("data-live")

    @property
    def cards(self) -> dict[str, str]:
        """The text of each card by its first piece."""
        cards = [each for each in self.root.every("div") if each.attributes.get("class") == "card"]
        return {each.pieces[0]: each.text for each in cards}

    def root_of(self, tag: str) -> Element:
        """The first element of a kind."""
        return next(self.root.every(tag))

    # Parts that are replaced when an event comes

    @property
    def parts(self) -> dict[str, Element]:
        """The parts by their names."""
        return {each.attributes["data-part"]: each for each in self.root.every() if "data-part" in each.attributes}

    # Tables

    def cells(self) -> list[list[str]]:
        """The texts of the cells of every row."""
        return self.root.cells

    @property
    def tables(self) -> list[list[list[str]]]:
        """The texts of the cells of each table."""
        return [each.cells for each in self.root.every("table")]

    @property
    def labelled(self) -> dict[str, list[list[str]]]:
        """The first table in each element with a label."""
        found = {
            each.attributes["aria-label"]: list(each.every("table"))
            for each in self.root.every("div")
            if "aria-label" in each.attributes
        }
        return {label: tables[0].cells for label, tables in found.items() if tables}

    def rows(self, label: str) -> list[list[str]]:
        """The rows, without the head, of the table with a label."""
        return self.labelled[label][1:]

    def table(self, first_column: str) -> list[list[str]]:
        """The rows, without the head, of the only table whose first column has this name."""
        (found,) = [rows for rows in self.tables if rows and rows[0][0].startswith(first_column)]
        return found[1:]

    def row(self, *words: str) -> str:
        """The text of the only row that has all the words."""
        (found,) = [each.text for each in self.root.every("tr") if all(word in each.text for word in words)]
        return found

    # Forms

    @property
    def controls(self) -> dict[str, dict[str, str]]:
        """The attributes of each named control that is shown."""
        shown = [each.attributes for each in self.root.every("input", "select")]
        return {given["name"]: given for given in shown if "name" in given and given.get("type") != "hidden"}

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Name and value of each field that is not shown."""
        return [
            (given["name"], given["value"]) for given in self.attributes_of("input") if given.get("type") == "hidden"
        ]

    @property
    def forms(self) -> list[ShownForm]:
        """Every form with its fields; a choice that is not made has none."""
        found = []
        for form in self.root.every("form"):
            fields = {
                each.attributes["name"]: each.attributes.get("value", "")
                for each in form.every("input")
                if each.attributes.get("type") != "radio"
            }
            areas = {each.attributes["name"]: each.whole.removeprefix("\n\n") for each in form.every("textarea")}
            found.append(ShownForm(form.attributes.get("action", ""), fields | areas))
        return found

    def post_form(self) -> ShownForm:
        """The form of a review."""
        (form,) = [form for form in self.forms if "event_id" in form.fields]
        return form
