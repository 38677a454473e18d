"""The stack behind `aijobs dev`, from an empty directory to an API that is ready, and down again.

The env file appears when everything is ready: who sees it can use it.
"""

from __future__ import annotations

import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from aijobs.engine.settings import Settings
from aijobs.http.embedded.announcement import announce
from aijobs.http.embedded.directory import Directory, DirectoryInUse
from aijobs.http.embedded.postgres import Postgres, ServerMissing, clean_environment
from aijobs.http.embedded.process import Command
from aijobs.http.embedded.programs import programs
from aijobs.http.embedded.records import MARK, Records, stop_leftovers
from aijobs.http.embedded.secrets import kept_secrets
from aijobs.http.embedded.supervisor import StopAsked, Supervisor
from aijobs.http.embedded.valkey import Valkey
from aijobs.http.embedded.wakeups import Wakeups

Say = Callable[[str], None]

_SERVERS, _PROGRAMS = 0, 1  # tiers
_SERVER_SECONDS = 60.0
_READY_SECONDS = 90.0
_FATAL_DEATHS = 4
_LOG_LINES = 8
#: Its few users play all of them: demos, tests and scripts ask at once.
_ROOM = {
    "AIJOBS_USER_REQUESTS_PER_MINUTE": "6000",
    "AIJOBS_ADMIN_REQUESTS_PER_MINUTE": "6000",
    "AIJOBS_PLATFORM_DAILY_TOKENS": str(10**12),
}
_PREPARATIONS = {
    "migrate": ("aijobs.http.cli", "migrate"),
    "seed": ("aijobs.http.embedded.seed",),
}
_POSTGRES_OPTIONS = {"statement_timeout": "30s", "idle_in_transaction_session_timeout": "60s"}


class StartFailed(Exception):
    """The stack cannot be brought up; the text says why and what helps."""


def run(path: Path, port: int, environ: Mapping[str, str], say: Say) -> None:
    """Bring the stack of a directory up, keep it up until a signal asks to stop, take it down.

    Raises StartFailed or SettingsError; either way nothing of it is left running.
    """
    directory = Directory(path)
    try:
        with directory.locked(), Wakeups() as wakeups:
            _Stack(directory, environ, say).serve(wakeups, port)
    except (DirectoryInUse, ServerMissing) as error:
        raise StartFailed(str(error)) from None


class _Stack:
    """One run of the stack. What it reads of the environment, it reads here."""

    def __init__(self, directory: Directory, environ: Mapping[str, str], say: Say) -> None:
        self._directory = directory
        self._say = say
        secrets = kept_secrets(directory.secrets)
        log = directory.log
        self._postgres = Postgres(directory.postgres, log("postgres"), _POSTGRES_OPTIONS)
        self._valkey = Valkey(directory.valkey, log("valkey"), secrets.pop("VALKEY_PASSWORD"))
        given = {name: value for name, value in environ.items() if value}
        counts = {"AIJOBS_METRICS_DIR": str(directory.metrics)}
        self._env = {**_ROOM, **counts, **secrets, **given}
        self._env |= {MARK: str(directory.path), "PYTHONUNBUFFERED": "1"}
        # A shell that sourced this stack's own env file names our servers, not others.
        self._own_postgres = environ.get("DATABASE_URL") in (None, "", self._postgres.url)
        self._own_valkey = environ.get("REDIS_URL") in (None, "", self._valkey.url)

    def serve(self, wakeups: Wakeups, port: int) -> None:
        directory = self._directory
        directory.env.unlink(missing_ok=True)
        for name in stop_leftovers(directory.processes, self._env[MARK]):
            self._say(f"{name} was left over by a killed `aijobs dev`: stopped")
        shutil.rmtree(directory.metrics, ignore_errors=True)  # of the last run
        supervisor = Supervisor(wakeups, Records(directory.processes), self._say)
        try:
            with _listening(port) as listener:
                self._bring_up(supervisor, listener)
                supervisor.run()
        except StopAsked:
            self._say("stopping (again to hurry)")
        finally:
            supervisor.stop()

    def _bring_up(self, supervisor: Supervisor, listener: socket.socket) -> None:
        settings = self._prepare()
        self._start_servers(supervisor)
        self._prepare_database(supervisor)
        for command in programs(self._directory, self._env, settings, listener):
            supervisor.start(command, tier=_PROGRAMS)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._await(supervisor, "api", lambda: _is_ready(url), _READY_SECONDS)
        announce(self._directory.env, self._env, settings, url)
        self._say(_greeting(url, self._directory))

    def _prepare(self) -> Settings:
        """Choose the servers' addresses and check the settings, before anything is started."""
        if self._own_postgres:
            self._env = clean_environment(self._env) | {"DATABASE_URL": self._postgres.url}
            self._env.pop("DATABASE_DIRECT_URL", None)
        if self._own_valkey:
            self._valkey.prepare()
            self._env["REDIS_URL"] = self._valkey.url
        settings = Settings.from_env(self._env)
        if self._own_postgres:
            self._postgres.prepare()
        return settings

    def _start_servers(self, supervisor: Supervisor) -> None:
        servers: list[Postgres | Valkey] = []
        servers += [self._postgres] if self._own_postgres else []
        servers += [self._valkey] if self._own_valkey else []
        for server in servers:
            supervisor.start(server.command(self._env), tier=_SERVERS)
        for server in servers:
            self._await(supervisor, server.name, server.is_ready, _SERVER_SECONDS)

    def _prepare_database(self, supervisor: Supervisor) -> None:
        """The newest schema, and the users that it comes with."""
        for name, words in _PREPARATIONS.items():
            command = Command(
                name=name,
                argv=(sys.executable, "-m", *words),
                log=self._directory.log(name),
                env=self._env,
            )
            if supervisor.finish(command, tier=_PROGRAMS) != 0:
                raise StartFailed(f"{name} failed:\n{_tail(command.log)}")

    def _await(
        self, supervisor: Supervisor, name: str, is_ready: Callable[[], bool], seconds: float
    ) -> None:
        """Wait for a process, but not for one that dies again and again."""
        ready = False

        def decided() -> bool:
            nonlocal ready
            ready = is_ready()
            return ready or supervisor.deaths(name) >= _FATAL_DEATHS

        supervisor.wait_until(decided, seconds)
        if not ready:
            log = self._directory.log(name)
            raise StartFailed(f"{name} does not get ready; the end of {log}:\n{_tail(log)}")


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise StartFailed(
            f"port {port} cannot be used ({error.strerror}): "
            "choose another with --port, or a free one with --port 0"
        ) from None
    with listener:
        yield listener


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=1, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-_LOG_LINES:]) or "(nothing)"


def _greeting(url: str, directory: Directory) -> str:
    return (
        f"aijobs is ready at {url} (logs in {directory.logs})\n"
        f"    set -a; . {shlex.quote(str(directory.env))}; set +a\n"
        '    curl -H "Authorization: Bearer $AIJOBS_USER_TOKEN" "$AIJOBS_URL/api/ai/jobs"\n'
        "Ctrl-C stops everything."
    )
