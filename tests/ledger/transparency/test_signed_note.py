"""Signed notes, checkpoints and their keys: known bytes, and whatever is written in another way is refused.

The keys are those of RFC 8032, 7.1, tests 1 and 2, so that the public ones are known from elsewhere; ids are worked out
here, as the format says.
"""

from base64 import b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from events.limits import NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX
from ledger.errors import BadNote
from ledger.transparency.signed_note import COSIGNATURE, Checkpoint, Signature, SignedNote, Signer, Verifier, parse_size
from tests.support.paths import ROOT

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
WITNESS_SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
NAME = "ledger.example/one"
KEY = "PRIVATE+KEY+ledger.example/one+b8cfcae7+AZ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"
VERIFIER = "ledger.example/one+b8cfcae7+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
WITNESS = "witness.example/w1+04d2d833+BD1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM"
GOLDEN = (ROOT / "tests" / "golden" / "notes" / "witnessed").read_bytes()
"""A checkpoint of three events, signed by the log at no time and by the witness at 1,700,000,000 s."""

CHECKPOINT = Checkpoint(NAME, 3, sha256(b"root").digest())
SIGNED = Signer.parse(KEY).sign(CHECKPOINT.text())


def test_a_key_is_written_as_everyone_writes_it() -> None:
    key_id = sha256(NAME.encode() + b"\n\x01" + PUBLIC).hexdigest()[:8]
    signer = Signer(NAME, SEED)
    private, public = (b64encode(b"\x01" + held).decode() for held in (SEED, PUBLIC))
    assert signer.secret() == KEY == f"PRIVATE+KEY+{NAME}+{key_id}+{private}"
    assert str(signer.verifier) == VERIFIER == f"{NAME}+{key_id}+{public}"
    assert Signer.parse(KEY).secret() == KEY
    assert Verifier.parse(VERIFIER) == signer.verifier


def test_a_known_note_is_read_and_made_byte_for_byte() -> None:
    note = SignedNote.parse(GOLDEN)
    assert note.encode() == GOLDEN
    assert Checkpoint.parse(note.text) == CHECKPOINT
    assert note._replace(signatures=note.signatures[:1]) == SIGNED
    assert Verifier.parse(VERIFIER).verifies(note)
    assert Verifier.parse(WITNESS).verifies(note)
    assert Verifier.parse(WITNESS).cosigned_at(note) == 1_700_000_000
    assert Verifier.parse(VERIFIER).cosigned_at(note) is None


def test_a_signature_is_over_the_text_with_its_last_line_feed() -> None:
    signature = Ed25519PrivateKey.from_private_bytes(SEED).sign(CHECKPOINT.text().encode())
    assert SIGNED.signatures[0].signature == signature


@pytest.mark.parametrize(
    "text", ["ledger.example/one\n4\n", CHECKPOINT.text()[:-1] + "=\n", CHECKPOINT.text() + "more\n"]
)
def test_another_text_is_not_signed(text: str) -> None:
    note = SignedNote.parse(GOLDEN)._replace(text=text)
    assert not Verifier.parse(VERIFIER).verifies(note)
    assert not Verifier.parse(WITNESS).verifies(note)


@given(st.integers(0, 71), st.integers(0, 7))
def test_a_cosignature_with_a_bit_changed_is_none(byte: int, bit: int) -> None:
    note = SignedNote.parse(GOLDEN)
    wrong = bytearray(note.signatures[1].signature)
    wrong[byte] ^= 1 << bit
    changed = note._replace(signatures=(note.signatures[0], note.signatures[1]._replace(signature=bytes(wrong))))
    assert Verifier.parse(WITNESS).cosigned_at(changed) is None
    assert Verifier.parse(VERIFIER).verifies(changed)


def test_what_a_witness_signed_is_no_signature_of_a_log() -> None:
    witness = Verifier.parse(WITNESS)
    posing = Verifier.of(witness.name, 1, witness.public)
    signature = SignedNote.parse(GOLDEN).signatures[1].signature
    for held in (signature, signature[8:]):
        assert not posing.verifies(SignedNote(SIGNED.text, (Signature(posing.name, posing.key_id, held),)))


def test_signatures_of_others_are_ignored_and_a_wrong_one_of_ours_is_not() -> None:
    verifier = Verifier.parse(VERIFIER)
    (right,) = SIGNED.signatures
    others = (right._replace(name="ledger.example/two"), right._replace(key_id=b"\0\0\0\0"))
    assert verifier.verifies(SIGNED._replace(signatures=(*others, right)))
    assert not verifier.verifies(SIGNED._replace(signatures=others))
    wrong = right._replace(signature=bytes(64))
    assert not verifier.verifies(SIGNED._replace(signatures=(wrong, right)))
    assert not verifier.verifies(SIGNED._replace(signatures=(right, wrong)))
    assert not verifier.verifies(SIGNED._replace(signatures=(right._replace(signature=right.signature[:-1]),)))


def test_a_text_may_hold_empty_lines_and_names_other_letters() -> None:
    signer = Signer("häuser.example/ß", SEED)
    note = signer.sign("one\n\ntwo\n")
    assert SignedNote.parse(note.encode()) == note
    assert signer.verifier.verifies(SignedNote.parse(note.encode()))
    assert Verifier.parse(str(signer.verifier)) == signer.verifier


def line(number: int = 0) -> str:
    return f"— {NAME} {b64encode(number.to_bytes(5)).decode()}\n"


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\n",
        b"text\n",
        b"text\n\n",
        f"text\n{line()}".encode(),
        f"text\n\n{line()[:-1]}".encode(),
        f"text\n\n{line()}more\n".encode(),
        f"text\n\n{line()}\n{line()}\n".encode(),
        f"te\rxt\n\n{line()}".encode(),
        f"te\0xt\n\n{line()}".encode(),
        f"text\r\n\r\n{line()}".encode(),
        b"te\xe9xt\n\n" + line().encode(),
        f"text\n\n{line().replace('— ', '- ')}".encode(),
        f"text\n\n{line().replace('— ', '—')}".encode(),
        f"text\n\n{line().replace(NAME, 'a+b')}".encode(),
        f"text\n\n{line().replace(NAME, 'a b')}".encode(),
        f"text\n\n{line().replace(NAME, f'a{chr(0x2028)}b')}".encode(),
        f"text\n\n{line().replace(NAME, f'a{chr(0x85)}b')}".encode(),
        f"text\n\n{line().replace(NAME, '')}".encode(),
        f"text\n\n— {NAME} {b64encode(b'four').decode()}\n".encode(),
        f"text\n\n— {NAME} AAAAAAA\n".encode(),
        f"text\n\n— {NAME} AAAAAAB=\n".encode(),
        f"text\n\n— {NAME} AAAA_AA=\n".encode(),
        f"text\n\n— {NAME} AAAAé\n".encode(),
        f"text\n\n{''.join(map(line, range(NOTE_SIGNATURES_MAX + 1)))}".encode(),
        f"{'x' * NOTE_BYTES_MAX}\n\n{line()}".encode(),
    ],
)
def test_what_is_no_note_is_refused(encoded: bytes) -> None:
    with pytest.raises(BadNote):
        SignedNote.parse(encoded)


def test_as_many_signatures_as_witnesses_may_leave_are_read() -> None:
    note = SignedNote.parse(f"text\n\n{''.join(map(line, range(NOTE_SIGNATURES_MAX)))}".encode())
    assert len(note.signatures) == NOTE_SIGNATURES_MAX


ROOT_TEXT = b64encode(CHECKPOINT.root).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"{NAME}\n3\n{ROOT_TEXT}",
        f"{NAME}\n3\n{ROOT_TEXT}\nmore\n",
        f"{NAME}\n3\n{ROOT_TEXT}\n\n",
        f"{NAME}\n03\n{ROOT_TEXT}\n",
        f"{NAME}\n-3\n{ROOT_TEXT}\n",
        f"{NAME}\n+3\n{ROOT_TEXT}\n",
        f"{NAME}\n3 \n{ROOT_TEXT}\n",
        f"{NAME}\n\uff13\n{ROOT_TEXT}\n",
        f"{NAME}\n\n{ROOT_TEXT}\n",
        f"{NAME}\n{2**63}\n{ROOT_TEXT}\n",
        f"{NAME}\n3\n{ROOT_TEXT[:-1]}\n",
        f"{NAME}\n3\n{ROOT_TEXT} \n",
        f"{NAME}\n3\n{b64encode(bytes(31)).decode()}\n",
        f"{NAME}\n3\n{b64encode(bytes(33)).decode()}\n",
        f"{NAME}\n3\n{ROOT_TEXT[:-2]}J=\n",
        f"\n3\n{ROOT_TEXT}\n",
        f"a b\n3\n{ROOT_TEXT}\n",
        f"{NAME}\u20283\u2028{ROOT_TEXT}\n",
        "",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        Checkpoint.parse(text)


@given(st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_checkpoint_is_read_as_it_is_written(size: int, root: bytes) -> None:
    checkpoint = Checkpoint(NAME, size, root)
    assert Checkpoint.parse(checkpoint.text()) == checkpoint
    assert parse_size(str(size)) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        NAME,
        VERIFIER[:-1],
        VERIFIER + "\n",
        VERIFIER.replace("b8cfcae7", "b8cfcae8"),
        VERIFIER.replace("b8cfcae7", "B8CFCAE7"),
        VERIFIER.replace("b8cfcae7", "b8cfcae"),
        VERIFIER.replace("one", "two"),
        VERIFIER.replace("/", " "),
        WITNESS.replace("BD1A", "CD1A"),
        "ledger.example/one+b8cfcae7+",
        "ledger.example/one+b8cfcae7+AQ==",
        KEY,
    ],
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        Verifier.parse(text)


@pytest.mark.parametrize(
    "text", ["", VERIFIER, KEY[:-1], KEY[:-4], KEY.replace("b8cfcae7", "00000000"), KEY.replace("AZ1h", "BJ1h")]
)
def test_a_private_key_that_is_refused_is_not_quoted(text: str) -> None:
    with pytest.raises(BadNote) as refused:
        Signer.parse(text)
    assert "sZ3v" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u2028b", "a\u200bb", "x" * 256])
def test_a_key_is_not_made_under_a_name_that_may_be_none(name: str) -> None:
    with pytest.raises(BadNote):
        Signer.make(name)


def test_made_keys_differ_and_read_back() -> None:
    one, other = Signer.make(NAME), Signer.make(NAME)
    assert one.verifier != other.verifier
    assert Signer.parse(one.secret()).verifier == one.verifier
    assert one.verifier.verifies(one.sign("text\n"))
    assert not other.verifier.verifies(one.sign("text\n"))


def test_the_witness_of_the_known_note_is_that_of_the_other_key() -> None:
    public = Ed25519PrivateKey.from_private_bytes(WITNESS_SEED).public_key().public_bytes_raw()
    assert str(Verifier.of("witness.example/w1", COSIGNATURE, public)) == WITNESS
