"""The address, the headers and the secrets of an OpenAI-compatible HTTP endpoint."""

import ssl
from base64 import b64encode
from urllib.parse import parse_qsl, unquote

import httpx

PORT_MAX = 65_535


def parse_address(text: str) -> httpx.URL | None:
    """Return the address of a server; None for a text that is none."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return None
    is_valid = url.scheme in {"http", "https"} and url.host and "%" not in url.host and (url.port or 0) <= PORT_MAX
    return url if is_valid else None


class HttpEndpoint:
    """An endpoint at a path below a base address, which may end with that path, and contain credentials and a query."""

    def __init__(self, base: httpx.URL, path: str, key: str | None) -> None:
        base_path = base.path.rstrip("/").removesuffix(path)
        bare = base.copy_with(userinfo=b"", fragment=None)
        user = base.userinfo.decode("latin-1")
        basic = b64encode(unquote(user).encode()).decode() if user else ""
        self.name = f"{bare.copy_with(path=base_path or '/', query=None)}".rstrip("/")
        """The base address without credentials and query."""
        self.host = f"{base.host}:{base.port}" if base.port else base.host
        """The host, and the port if the address states one."""
        self.url = bare.copy_with(path=f"{base_path}{path}")
        self.headers = {"accept": "application/json", "accept-encoding": "identity"}
        if key or basic:
            self.headers["authorization"] = f"Bearer {key}" if key else f"Basic {basic}"
        query_values = [value for _, value in parse_qsl(base.query.decode("latin-1"))]
        self.secrets = [key or "", basic, user, unquote(user), base.username, base.password, *query_values]
        self.tls = httpx.create_ssl_context() if base.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
