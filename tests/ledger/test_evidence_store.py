"""The evidence store by itself: what is in its files, what a damaged one gives, and what an erasure leaves behind."""

import errno
import os
import random
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.atomic_file import write_whole
from ledger.errors import Damaged, LedgerFull, LedgerUnavailable
from ledger.evidence_store import EvidenceStore

MB = 1 << 20


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def keep(store: EvidenceStore, *blobs: bytes) -> list[str]:
    """Bytes put to their end; their digests."""
    digests = {digest_of(data): data for data in blobs}
    store.write_pending(digests)
    for digest in digests:
        store.publish(digest)
    return list(digests)


def files(store: EvidenceStore) -> list[Path]:
    """Every file of a store, whatever it is called."""
    return sorted(path for path in store.folder.rglob("*") if path.is_file())


def found(store: EvidenceStore, data: bytes) -> list[Path]:
    """Return the files that contain any of many 32-byte samples of a blob, or of its zlib form."""
    packed = zlib.compress(data)
    traces = [
        whole[start : start + 32]
        for whole in (data, packed)
        for start in range(0, max(1, len(whole) - 32), max(32, len(whole) // 64))
    ]
    contents = {path: path.read_bytes() for path in files(store)}
    return [path for path, content in contents.items() if any(trace in content for trace in traces)]


def noise(seed: int, size_bytes: int) -> bytes:
    return random.Random(seed).randbytes(size_bytes)


@pytest.mark.parametrize("data", [b"", b"x", b"text " * 20_000, noise(1, 70_000)])
def test_what_is_kept_is_given_back(tmp_path: Path, data: bytes) -> None:
    store = EvidenceStore(tmp_path / "ledger.db")
    (digest,) = keep(store, data)
    assert store.read(digest, len(data)) == data
    assert store.pending() == []
    assert [path.name for path in files(store)] == [digest]


def test_it_is_compressed_and_kept_once(tmp_path: Path) -> None:
    store, data = EvidenceStore(tmp_path / "ledger.db"), b"the same words again " * 50_000
    keep(store, data)
    keep(store, data)
    (file,) = files(store)
    assert file.stat().st_size < len(data) / 100


def test_what_is_pending_can_be_read(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "ledger.db")
    digest = digest_of(b"held")
    assert store.write_pending({digest: b"held"}) == [digest]
    assert store.write_pending({digest: b"held"}) == [], "it was there before"
    assert store.read(digest, 4) == b"held"
    store.publish(digest)
    store.unpublish(digest)
    assert store.pending() == [digest]
    assert store.read(digest, 4) == b"held"


def test_one_store_by_whatever_link_the_ledger_is_named(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
    (digest,) = keep(EvidenceStore(tmp_path / "link.db"), b"once")
    assert EvidenceStore(tmp_path / "ledger.db").read(digest, 4) == b"once"


@pytest.mark.slow
def test_nothing_of_an_erased_blob_is_in_any_file(tmp_path: Path) -> None:
    """Many small ones, one of 10 MB that does not compress and one that does, erased among others that stay."""
    store = EvidenceStore(tmp_path / "ledger.db")
    small = [f"response {number}: ".encode() + noise(number, 40 + number) for number in range(300)]
    big = [noise(1_000, 10 * MB), b"".join(b"line %d of the same\n" % n for n in range(500_000))]
    erased, kept = [*small[::2], *big], small[1::2]
    keep(store, *small, *big)
    assert all(found(store, data) for data in erased), "the search sees what is there"
    for data in erased:
        store.unpublish(digest_of(data))
        store.remove(digest_of(data))
    assert [found(store, data) for data in erased] == [[]] * len(erased)
    assert sorted(path.name for path in files(store)) == sorted(map(digest_of, kept))
    assert [store.read(digest_of(data), len(data)) for data in kept] == kept


def test_the_blocks_are_written_over_before_they_are_let_go(tmp_path: Path) -> None:
    """A second name of the file shows what its blocks hold when the first is gone."""
    store, data = EvidenceStore(tmp_path / "ledger.db"), noise(7, 3 * MB + 5)
    (digest,) = keep(store, data)
    (file,) = files(store)
    os.link(file, tmp_path / "second")
    size_bytes = file.stat().st_size
    store.remove(digest)
    assert (tmp_path / "second").read_bytes() == bytes(size_bytes)


def test_removing_finishes_what_was_begun_and_may_be_repeated(tmp_path: Path) -> None:
    store, data = EvidenceStore(tmp_path / "ledger.db"), b"sensitive" * 100
    (digest,) = keep(store, data)
    store.write_pending({digest: data})
    (store.folder / "pending" / f"{digest}.part").write_bytes(data[:50])
    assert store.pending() == [digest]
    store.remove(digest)
    store.remove(digest)
    assert files(store) == []
    assert store.pending() == []


def _flipped(packed: bytes) -> bytes:
    return packed[:40] + bytes([packed[40] ^ 1]) + packed[41:]


@pytest.mark.parametrize(
    "damage",
    [
        _flipped,
        lambda packed: packed[:-1],
        lambda packed: packed + b"more",
        lambda packed: b"",
        lambda packed: b"no zlib at all",
        lambda packed: zlib.compress(b"other bytes"),
        lambda packed: zlib.compress(zlib.decompress(packed) + b"x"),
        lambda packed: zlib.compress(bytes(1 << 26)),
    ],
)
def test_a_damaged_file_is_an_error_and_never_other_bytes(tmp_path: Path, damage: object) -> None:
    store, data = EvidenceStore(tmp_path / "ledger.db"), noise(3, 5_000)
    (digest,) = keep(store, data)
    (file,) = files(store)
    assert callable(damage)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(Damaged, match=f"evidence {digest}: its file .* is damaged"):
        store.read(digest, len(data))
    assert not store.is_readable(digest, len(data))
    keep(store, data)
    assert store.read(digest, len(data)) == data, "the same bytes again mend it"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="is missing"):
        EvidenceStore(tmp_path / "ledger.db").read(digest_of(b"gone"), 4)


def fill_disk_at(monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    """Let the disk be full when the file of a digest is written."""

    def write(path: Path, data: bytes) -> None:
        if path.name == digest:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_whole(path, data)

    monkeypatch.setattr("ledger.evidence_store.write_whole", write)


def test_a_full_disk_keeps_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full at the third of four."""
    store = EvidenceStore(tmp_path / "ledger.db")
    (before,) = keep(store, b"before")
    blobs = {digest_of(data): data for data in (b"one", b"two", b"three", b"four")}
    fill_disk_at(monkeypatch, digest_of(b"three"))
    with pytest.raises(LedgerFull, match="The disk is full; nothing was kept"):
        store.write_pending(blobs)
    monkeypatch.undo()
    assert [path.name for path in files(store)] == [before]
    assert store.pending() == []
    assert sorted(store.write_pending(blobs)) == sorted(blobs), "the store works again when there is space"


def test_what_was_pending_before_outlives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its event may be on its way into the log."""
    store = EvidenceStore(tmp_path / "ledger.db")
    first, second = digest_of(b"first"), digest_of(b"second")
    store.write_pending({first: b"first"})
    fill_disk_at(monkeypatch, second)
    with pytest.raises(LedgerFull):
        store.write_pending({first: b"first", second: b"second"})
    assert store.pending() == [first]


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "ledger.db")
    store.folder.write_text("a file where the folder should be")
    with pytest.raises(LedgerUnavailable, match="The evidence store failed"):
        store.write_pending({digest_of(b"x"): b"x"})


@given(data=st.binary(max_size=3_000), cut=st.integers(0, 2**32), noise=st.binary(max_size=40))
@settings(max_examples=60, deadline=None)
def test_whatever_stands_in_a_file_is_its_bytes_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int, noise: bytes
) -> None:
    store = EvidenceStore(tmp_path_factory.mktemp("store") / "ledger.db")
    (digest,) = keep(store, data)
    (file,) = files(store)
    packed = file.read_bytes()
    at = cut % (len(packed) + 1)
    file.write_bytes(packed[:at] + noise + packed[at + len(noise) :])
    try:
        assert store.read(digest, len(data)) == data
    except Damaged:
        assert file.read_bytes() != packed
