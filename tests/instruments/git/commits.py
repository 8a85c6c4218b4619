"""Commits, and histories as git prints them, for tests that start no process."""

from instruments.git.history_log import Commit


def commit(
    message: str = "Change it",
    *,
    sha: str = "a" * 40,
    author: str = "Ann",
    address: str = "ann@example.org",
    committer: str | None = None,
    committer_address: str | None = None,
    committed_s: int = 0,
    parents: tuple[str, ...] = (),
) -> Commit:
    """Return a commit of a person, or of whom it says."""
    return Commit(
        sha=sha, parents=parents, authored_s=committed_s, committed_s=committed_s, author_name=author,
        author_address=address, committer_name=author if committer is None else committer,
        committer_address=address if committer_address is None else committer_address, message=message,
    )  # fmt: skip


def printed(diff: str, message: str = "Change it", sha: str = "a" * 40) -> bytes:
    """Return a commit as git prints it for `read_changes`."""
    header = [sha, "b" * 40, "1", "2", "Ann", "ann@example.org", "Bo", "bo@example.org", f"{message}\n"]
    return ("\0" + "\0".join(header) + "\0\0\n\n" + diff).encode()
