"""Which change each line is from."""

from instruments.git.history_log import FileEdit, Hunk
from instruments.git.line_origins import UNKNOWN, LineOrigins


def lines(text: str) -> list[bytes]:
    return [f"{word}\n".encode() for word in text.split()]


def edit(old: str | None, new: str | None, *hunks: tuple[int, str, str]) -> FileEdit:
    return FileEdit(
        None if old is None else old.encode(), None if new is None else new.encode(),
        [Hunk(start, lines(removed), lines(added)) for start, removed, added in hunks],
    )  # fmt: skip


def everything(path: bytes, line: bytes) -> bool:
    return True


def test_lines_keep_their_origin_while_others_come_and_go() -> None:
    origins = LineOrigins(everything)
    assert origins.apply(0, [edit(None, "x", (0, "", "one two three four"))]) == (4, {})
    assert origins.apply(1, [edit("x", "x", (2, "two", "2a 2b"), (4, "", "five"))]) == (3, {0: 1})
    assert origins.origins(b"x") == [0, 1, 1, 0, 0, 1]
    assert origins.apply(2, [edit("x", "x", (1, "one 2a 2b", ""))]) == (0, {0: 1, 1: 2})
    assert origins.origins(b"x") == [0, 0, 1]


def test_renamed_and_exchanged_and_deleted_files() -> None:
    origins = LineOrigins(everything)
    origins.apply(0, [edit(None, "x", (0, "", "one")), edit(None, "y", (0, "", "two"))])
    origins.apply(1, [edit("y", "y", (1, "", "three"))])
    origins.apply(2, [edit("x", "y"), edit("y", "x")])
    assert (origins.origins(b"x"), origins.origins(b"y")) == ([0, 1], [0])
    assert origins.apply(3, [edit("x", None, (1, "two three", ""))]) == (0, {0: 1, 1: 1})
    assert origins.origins(b"y") == [0]


def test_a_line_that_moves_within_a_change_keeps_its_origin() -> None:
    change = [edit("x", "x", (1, "alpha }", "")), edit(None, "y", (0, "", "alpha beta }"))]
    moved, unmoved = LineOrigins(everything), LineOrigins(everything, moves=False)
    for origins in (moved, unmoved):
        origins.apply(0, [edit(None, "x", (0, "", "alpha } omega"))])
    assert moved.apply(1, change) == (2, {0: 1})
    assert moved.origins(b"y") == [0, 1, 1]
    assert unmoved.apply(1, change) == (3, {0: 2})


def test_only_lines_that_count_are_in_the_counts() -> None:
    origins = LineOrigins(lambda path, line: path == b"x" and line != b"}\n")
    assert origins.apply(0, [edit(None, "x", (0, "", "one }")), edit(None, "y", (0, "", "two"))]).born == 1
    assert origins.apply(1, [edit("x", None, (1, "one }", "")), edit("y", None, (1, "two", ""))]) == (0, {0: 1})


def test_lines_that_no_diff_has_shown() -> None:
    origins = LineOrigins(everything)
    assert origins.apply(0, [edit("x", "x", (3, "three", "3"))]) == (1, {})
    assert origins.origins(b"x") == [UNKNOWN, UNKNOWN, 0]
