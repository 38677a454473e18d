"""The allow-list of hosts for users' own keys."""

from __future__ import annotations

import pytest

from aijobs.engine.key_hosts import (
    DEFAULT_HOSTS,
    BaseUrlRefused,
    canonical,
    default_base_url,
    host_of,
    hosts_of,
)
from aijobs.engine.settings import Settings, SettingsError
from tests.unit.engine.base_urls import REFUSED

HOSTS = hosts_of(DEFAULT_HOSTS)
ENVIRON = {"DATABASE_URL": "postgresql:///x", "REDIS_URL": "redis://127.0.0.1"}


@pytest.mark.parametrize("base_url", REFUSED)
def test_refused(base_url: str) -> None:
    with pytest.raises(BaseUrlRefused, match=r"^must be "):
        canonical(base_url, HOSTS)


@pytest.mark.parametrize("host", DEFAULT_HOSTS)
def test_every_default_host_has_a_provider_with_a_base_url_there(host: str) -> None:
    provider = {"api.deepseek.com": "DeepSeek", "api.openai.com": "openai"}.get(host, "openrouter")
    base_url = default_base_url(provider, HOSTS)
    assert base_url is not None
    assert base_url.startswith(f"https://{host}")
    assert canonical(base_url, HOSTS) == base_url
    assert host_of(base_url, HOSTS).host == host


def test_a_provider_whose_host_is_not_listed_has_no_base_url() -> None:
    assert default_base_url("openai", hosts_of(["api.deepseek.com"])) is None
    assert default_base_url("unheard-of", HOSTS) is None


def test_an_entry_may_name_the_model() -> None:
    hosts = hosts_of(["api.deepseek.com=deepseek-v4-pro", "LLM.example.org", "a.example=x=y"])
    assert {host: found.model for host, found in hosts.items()} == {
        "api.deepseek.com": "deepseek-v4-pro",
        "llm.example.org": None,
        "a.example": "x=y",
    }


@pytest.mark.parametrize(
    "entry",
    [
        "https://api.deepseek.com",
        "api.deepseek.com:443",
        "api.deepseek.com/v1",
        "user@api.deepseek.com",
        "*.deepseek.com",
        "127.0.0.1",
        "2852039166",
        "0xA9FEA9FE",
        "[::1]",
        "a..b",
        "-a.example",
    ],
)
def test_what_is_no_name_of_a_host_stops_the_process(entry: str) -> None:
    with pytest.raises(SettingsError, match="AIJOBS_CREDENTIAL_HOSTS"):
        Settings.from_env({**ENVIRON, "AIJOBS_CREDENTIAL_HOSTS": f"api.deepseek.com,{entry}"})


def test_the_list_is_read_from_the_environment() -> None:
    given = {**ENVIRON, "AIJOBS_CREDENTIAL_HOSTS": " a.example , b.example=m "}
    assert Settings.from_env(given).credential_hosts == ("a.example", "b.example=m")
