"""Which changes are taken back, by which mark."""

from instruments.git.history_log import Commit, FileEdit, Hunk
from instruments.git.reverts import Revert, content_key, find_reverts, number_of
from tests.instruments.git.commits import commit


def history(*messages: str) -> list[Commit]:
    """Commits whose ids begin with 10, 11, 12, ..., oldest first."""
    return [commit(message, sha=f"{number:02}".ljust(40, "0")) for number, message in enumerate(messages, 10)]


def test_an_id_counts_before_a_number_and_that_before_a_subject() -> None:
    commits = history(
        "Pool (#1)", "Pool", 'Revert "Pool"\n\nThis reverts commit 1000000.', 'Revert "Pool" (#2)\n\nReverts ann/x#1',
        'Revert "Pool"',
    )  # fmt: skip
    reverts, unresolved = find_reverts(commits)
    assert reverts == [Revert(2, 0, "sha"), Revert(3, 0, "pull_request"), Revert(4, 1, "subject")]
    assert unresolved == 0


def test_several_ids_and_ids_in_the_middle_of_a_squash() -> None:
    commits = history(
        "One", "Two", "Squash\n\n* Revert it\n\nThis reverts commit 1000000, 1100000 and 1000000.", "Three"
    )
    assert find_reverts(commits)[0] == [Revert(2, 0, "sha"), Revert(2, 1, "sha")]


def test_an_unknown_id_leaves_the_subject() -> None:
    commits = history("One", 'Revert "One"\n\nThis reverts commit abcdef1.', "revert(pool): Two", "Do not revert this")
    assert find_reverts(commits) == ([Revert(1, 0, "subject")], 1)


def test_the_latest_change_of_a_subject_is_taken_back() -> None:
    commits = history("One", "One", 'Revert "One"', 'Reapply "One"\n\nThis reverts commit 1200000.')
    assert find_reverts(commits)[0] == [Revert(2, 1, "subject"), Revert(3, 2, "sha")]


def test_numbers_of_pull_requests() -> None:
    numbers = [number_of(one) for one in history("Fix (#12)", "Merge pull request #7 from a/b", "Fix #3 (#4) more")]
    assert numbers == [12, 7, None]


def test_contents_that_undo_each_other() -> None:
    def edit(removed: list[bytes], added: list[bytes]) -> list[FileEdit]:
        return [FileEdit(b"x.py", b"x.py", [Hunk(1, removed, added)])]

    one, back = edit([b"a\n", b"b\n"], [b"c\n"]), edit([b" c\n"], [b"a \n", b"b\n"])
    assert content_key(one) == content_key(back, inverse=True) != content_key(back)
    assert content_key(edit([b"a\n"], [b"b\n"])) is None
    made = [FileEdit(None, b"n.py", [Hunk(0, [], [b"a\n", b"b\n", b"c\n"])])]
    gone = [FileEdit(b"n.py", None, [Hunk(1, [b"a\n", b"b\n", b"c\n"], [])])]
    assert content_key(made) == content_key(gone, inverse=True)
