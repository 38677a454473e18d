"""Where users' own keys may go: an allow-list of hosts, and what is asked for at each.

Invariant: a base URL that `canonical` lets pass is `https://HOST[/PATH]` with a listed host name,
spelled in the one way that no two readers of URLs can take differently.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aijobs.engine.sentence import Sentence

_FILE = Path(__file__).parent / "key_hosts_2026_11.toml"

DEFAULT_HOSTS = ("api.deepseek.com", "api.openai.com", "openrouter.ai")

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
#: A name, never an address: the last label of an address in any notation begins with a digit.
_NAME = re.compile(rf"(?:{_LABEL}\.)*[a-z]([a-z0-9-]{{0,61}}[a-z0-9])?")
_URL = re.compile(
    r"https://(?P<host>[a-z0-9.-]{1,253})(?::443)?(?P<path>(?:/[a-z0-9_~.-]+)*)/?",
    re.IGNORECASE | re.ASCII,
)


class BaseUrlRefused(Exception):
    """A key may not go there; the sentence says what the base URL must be."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class KeyHost:
    """A host of the allow-list. `model` None: the platform's."""

    host: str
    model: str | None
    extra_body: Mapping[str, Any]


def hosts_of(entries: Iterable[str]) -> dict[str, KeyHost]:
    """The allow-list by host, from `host` or `host=model`. Raises ValueError."""
    return {found.host: found for found in map(_host_of, entries)}


def default_base_url(provider: str, hosts: Mapping[str, KeyHost]) -> str | None:
    """The base URL of a provider that is known by name, if its host is listed."""
    for host, known in _known().items():
        if host in hosts and known["provider"] == provider.lower():
            return str(known["base_url"])
    return None


def canonical(base_url: str, hosts: Mapping[str, KeyHost]) -> str:
    """The base URL in its one spelling. Raises BaseUrlRefused."""
    found = _URL.fullmatch(base_url)
    if found is None or {".", ".."} & set(found["path"].split("/")):
        raise BaseUrlRefused(
            Sentence(
                "must be https://HOST or https://HOST/PATH, without name, password, port, query "
                "or fragment"
            )
        )
    host = found["host"].lower()
    if host not in hosts:
        raise BaseUrlRefused(Sentence("must be at one of the hosts {hosts}", hosts=tuple(hosts)))
    return f"https://{host}{found['path']}"


def host_of(base_url: str, hosts: Mapping[str, KeyHost]) -> KeyHost:
    """The entry of a base URL's host. Raises BaseUrlRefused when it is not listed any more."""
    return hosts[canonical(base_url, hosts).split("/")[2]]


def _host_of(entry: str) -> KeyHost:
    host, _, model = entry.strip().partition("=")
    host = host.strip().lower()
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise ValueError(f"{host!r} is not the name of a host: give no scheme, port or address")
    known = _known().get(host, {})
    omitted = dict.fromkeys(known.get("omitted", ()))
    return KeyHost(
        host, model.strip() or known.get("model"), {**omitted, **known.get("extra_body", {})}
    )


@cache
def _known() -> dict[str, dict[str, Any]]:
    hosts: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["hosts"]
    return hosts
