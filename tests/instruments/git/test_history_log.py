"""What is read of the diffs that git prints."""

from io import BytesIO

from instruments.git.history_log import LINE_BYTES_MAX, FileEdit, parse_changes
from tests.instruments.git.commits import printed


def edits_of(diff: str) -> list[FileEdit]:
    (change,) = parse_changes(BytesIO(printed(diff)))
    return list(change.edits)


def test_the_header_of_each_commit() -> None:
    text = printed("", "Fix the pool\n\nIt leaked.", "1" * 40) + printed("", "Two", "2" * 40)
    first, second = (change.commit for change in parse_changes(BytesIO(text)))
    assert (first.sha, first.parents, first.authored_s, first.committed_s) == ("1" * 40, ("b" * 40,), 1, 2)
    assert (first.author_name, first.committer_address) == ("Ann", "bo@example.org")
    assert (first.subject, first.message) == ("Fix the pool", "Fix the pool\n\nIt leaked.")
    assert second.sha == "2" * 40


def test_lines_of_hunks_are_counted_and_not_recognised_by_how_they_begin() -> None:
    (edit,) = edits_of(
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n"
        "@@ -3,2 +3 @@ def f():\n--- a/not a header\n-two\n+++ b/nor this\n@@ -9,0 +9 @@\n+diff --git a/q b/q\n"
        "\\ No newline at end of file\n"
    )
    assert (edit.old, edit.new) == (b"x.py", b"x.py")
    first, second = edit.hunks
    assert (first.old_start, first.removed, first.added) == (
        3,
        [b"-- a/not a header\n", b"two\n"],
        [b"++ b/nor this\n"],
    )
    assert (second.old_start, second.removed, second.added) == (9, [], [b"diff --git a/q b/q\n"])


def test_new_deleted_renamed_and_binary_files() -> None:
    made, gone, moved, image = edits_of(
        "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+one\n"
        "diff --git a/g.py b/g.py\ndeleted file mode 100644\n--- a/g.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
        "diff --git a/a b.py b/c.py\nsimilarity index 100%\nrename from a b.py\nrename to c.py\n"
        "diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n"
    )
    assert (made.old, made.new, gone.old, gone.new) == (None, b"n.py", b"g.py", None)
    assert (moved.old, moved.new, moved.hunks) == (b"a b.py", b"c.py", [])
    assert (image.old, image.new, image.hunks) == (None, None, [])


def test_names_that_git_quotes() -> None:
    (edit,) = edits_of(
        'diff --git "a/t\\tab.py" "b/t\\tab.py"\n'
        '--- "a/t\\tab.py"\n+++ "b/q\\"\\\\\\303\\251.py"\n@@ -1 +1 @@\n-a\n+b\n'
    )
    assert (edit.old, edit.new) == (b"t\tab.py", b'q"\\\xc3\xa9.py')


def test_a_long_line_is_one_line_of_bounded_size() -> None:
    long = "x" * (3 * LINE_BYTES_MAX)
    head = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n"
    (edit,) = edits_of(f"{head}-{long}\n+{long}\n+{long}y\n")
    (hunk,) = edit.hunks
    assert hunk.removed[0] == hunk.added[0] != hunk.added[1]
    assert len(hunk.added[0]) < 100
