"""https: a certificate made on the spot, clients that trust its signer or do not, and files that do not fit."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.api.cli.command import done, refused
from tests.api.http import short_limits
from tests.api.http.posts import ndjson, recorded
from tests.support.server import Served, served


class Signed(NamedTuple):
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path, name: str, password: bytes | None = None) -> tuple[str, str]:
        """The files of certificate and key."""
        secret = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        key = self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
        (folder / f"{name}.pem").write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(key)
        return str(folder / f"{name}.pem"), str(folder / f"{name}.key")


def sign(name: str, by: Signed | None = None) -> Signed:
    """A certificate for loopback signed by another, or one that signs others."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = by.certificate.subject if by else subject
    now = datetime.now(UTC)
    loopback = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    uses = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=by is None, crl_sign=by is None, **uses), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((by.key if by else key).public_key()), critical=False
        )
        .add_extension(x509.SubjectAlternativeName(loopback), critical=False)
    )  # fmt: skip
    return Signed(builder.sign((by.key if by else key), hashes.SHA256()), key)


class Secure(NamedTuple):
    """A server over https, and who signed its certificate."""

    server: Served
    authority: str


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder = tmp_path_factory.mktemp("tls")
    authority = sign("our authority")
    named = authority.write(folder, "authority")[0]
    cert, key = sign("the server", authority).write(folder, "server")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", named)
        with served(folder / "ledger.db", "--tls-cert", cert, "--tls-key", key, module=short_limits.__name__) as server:
            yield Secure(server, named)


def port_of(server: Served) -> int:
    return int(server.url.rpartition(":")[2])


@pytest.mark.slow
def test_the_address_is_https_and_stays_so(secure: Secure) -> None:
    assert secure.server.url.startswith("https://127.0.0.1:")
    answer = httpx.get(f"{secure.server.url}/events")
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.slow
def test_who_does_not_know_the_signer_does_not_trust(secure: Secure, tmp_path: Path) -> None:
    other = sign("another authority").write(tmp_path, "other")[0]
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{secure.server.url}/events", verify=ssl.create_default_context(cafile=other))


@pytest.mark.slow
def test_who_speaks_no_tls_or_an_old_one_is_not_heard(secure: Secure) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(secure.server.url.replace("https", "http"))
    context = ssl.create_default_context(cafile=secure.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    plain = socket.create_connection(("127.0.0.1", port_of(secure.server)))
    with context.wrap_socket(plain, server_hostname="localhost") as spoken:
        cipher = spoken.cipher()
    assert cipher is not None
    assert "GCM" in cipher[0] or "CHACHA20" in cipher[0]


@pytest.mark.slow
def test_a_handshake_that_does_not_come_is_not_waited_for(secure: Secure) -> None:
    with socket.create_connection(("127.0.0.1", port_of(secure.server))) as silent:
        assert silent.recv(1) == b""


@pytest.mark.slow
def test_the_command_line_trusts_the_given_certificate(secure: Secure, tmp_path: Path) -> None:
    asked, events = ("append", "--url", secure.server.url, "-"), ndjson([recorded()])
    assert done(tmp_path / "none.db", *asked, given=events).text.startswith("1 event appended")
    other = sign("another authority").write(tmp_path, "other")[0]
    said = refused(tmp_path / "none.db", *asked, given=events, code=1, SSL_CERT_FILE=other)
    assert "Name the authority that signed its certificate in SSL_CERT_FILE." in said


def test_files_that_do_not_fit_are_refused_before_anything_is_served(tmp_path: Path) -> None:
    authority = sign("our authority")
    cert, key = sign("one", authority).write(tmp_path, "one")
    other = sign("other", authority).write(tmp_path, "other")[1]
    sealed = sign("sealed", authority).write(tmp_path, "sealed", b"secret")
    for given, said in (
        (("--tls-cert", cert), "certificate needs its key"),
        (("--tls-key", key), "certificate needs its key"),
        (("--tls-cert", cert, "--tls-key", other), "cannot be used"),
        (("--tls-cert", cert, "--tls-key", str(tmp_path / "none")), "cannot be used"),
        (("--tls-cert", sealed[0], "--tls-key", sealed[1]), "is encrypted"),
    ):
        assert said in refused(tmp_path / "l.db", "serve", "--port", "0", *given)
    assert not (tmp_path / "l.db").exists()
