"""Files that are written whole or not at all."""

from pathlib import Path

import pytest

from ledger.atomic_file import replace_whole, write_text, write_whole


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "key"
    replace_whole(path, b"one", mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one", 0o600)
    (tmp_path / "key.part").write_bytes(b"what a killed attempt left")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exclusive_write_keeps_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "golden.json"
    write_text(path, "größer\n", exclusive=True)
    with pytest.raises(FileExistsError):
        write_text(path, "other", exclusive=True)
    assert path.read_bytes() == "größer\n".encode()
    write_text(path, "other")
    assert path.read_text() == "other"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(folder, b"x")
    with pytest.raises(IsADirectoryError):
        write_text(folder, "x")
    assert list(tmp_path.iterdir()) == [folder]
