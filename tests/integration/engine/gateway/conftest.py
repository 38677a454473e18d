"""A provider under test and a scripted one to call, also over TLS."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from aijobs.engine.gateway import OpenAIProvider
from tests.scripted_provider import ScriptedProvider


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """A scripted provider."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def provider() -> Iterator[OpenAIProvider]:
    """The gateway, trusting no certificate at all."""
    gateway = OpenAIProvider(30.0, tls=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    yield gateway
    gateway.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that nobody knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "scripted provider")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[ScriptedProvider]:
    """A scripted provider behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ScriptedProvider(tls=context) as scripted:
        yield scripted


@pytest.fixture
def tls_provider(certificate: Path) -> Iterator[OpenAIProvider]:
    """The gateway, trusting the scripted provider's certificate."""
    gateway = OpenAIProvider(30.0, tls=ssl.create_default_context(cafile=certificate))
    yield gateway
    gateway.close()
