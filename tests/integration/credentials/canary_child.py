"""A process in which calls with canary keys end in every way there is, at the finest log level.

It logs to stderr as production does, and writes every answer of the API to the file it is given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import falcon.testing
import redis

from aijobs.actors import worker
from aijobs.actors.relay import Relay
from aijobs.engine.chat import ChatRequest, Provider, Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.settings import Settings
from aijobs.http.app import create_app
from aijobs.http.tokens import issue
from tests.integration.credentials.detour import Detour
from tests.integration.engine.seen import forget_circuits
from tests.integration.engine.wire import attempt
from tests.scripted_provider import Exchange, ScriptedProvider
from tests.scripted_provider.knobs import Behaviour
from tests.world import World, world

#: Of no known shape, so that only its being a key can give it away; each key begins with it.
CANARY = "Canary7Yq2Lm"
USER_KEY, PLATFORM_KEY, REFUSED_KEY = (f"{CANARY}-{who}-0001" for who in ("user", "plat", "form"))
NOWHERE = "nowhere.invalid"


def _echo(status: int) -> Behaviour:
    """The provider quotes the key, as some do."""

    def behave(exchange: Exchange) -> None:
        key = exchange.call.headers["Authorization"]
        told = {"message": f"Incorrect API key {key}", "code": key, "type": key}
        exchange.respond(status, {"error": told}, headers={"X-Echo": key})

    return behave


class Crashing:
    """A provider with a bug whose exceptions carry the key."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        try:
            raise ValueError({"Authorization": f"Bearer {route.api_key}"})
        except ValueError as error:
            raise RuntimeError(f"cannot send {route.api_key} of {route!r}") from error


@dataclass
class Api:
    """The API as the user sees it; what it says is kept."""

    client: falcon.testing.TestClient
    token: str
    said: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None, below: str = "/api/ai") -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.client.simulate_request(method, below + path, json=body, headers=headers)
        self.said.append(f"{answer.status} {answer.headers} {answer.text}")
        return answer.json if "json" in answer.headers.get("content-type", "") else None

    def add_key(self, key: str, **more: Any) -> str:
        made = self.ask("POST", "/model-credentials", {"provider": "x", "apiKey": key, **more})
        return str(made["id"])


@dataclass
class Line:
    """The system in one thread; a job's messages stay in Redis."""

    world: World
    api: Api
    server: ScriptedProvider
    relay: Relay

    def work(self, credential_id: str | None, **more: Any) -> None:
        """One job, one attempt, and what the API says of it afterwards."""
        target = {"targetType": "knowledge_base", "targetId": str(self.world.base_id)}
        mode = {"apiKeyMode": "user_key", "credentialId": credential_id} if credential_id else {}
        forget_circuits()
        made = self.api.ask("POST", "/jobs", {"jobType": "quiz_generation", **target, **mode})
        self.relay.run_once()
        attempt(self.world, self.world.job(UUID(made["jobId"])), **more)
        self.relay.run_once()
        for path in (f"/jobs/{made['jobId']}", f"/jobs/{made['jobId']}/result", "/jobs"):
            self.api.ask("GET", path)

    def with_gateway(self, gateway: Provider) -> Line:
        """The same with another provider for everybody's keys."""
        engine = replace(self.world.engine, gateway=gateway, provider=gateway)
        app = falcon.testing.TestClient(create_app(engine, redis.Redis.from_url(_redis_url())))
        api = replace(self.api, client=app)
        return replace(self, world=replace(self.world, engine=engine), api=api)


def _redis_url() -> str:
    return os.environ["REDIS_URL"]


def _everything(line: Line) -> None:
    user_key = line.api.add_key(USER_KEY, baseUrl="https://api.deepseek.com")
    refused = line.api.add_key(REFUSED_KEY, baseUrl="https://api.deepseek.com")
    nowhere = line.api.add_key(USER_KEY, baseUrl=f"https://{NOWHERE}")
    for credential_id in (user_key, None):
        for behave in ("ok", _echo(400), _echo(402), _echo(500), _echo(302), "mid_stream_cut"):
            line.server.script(behave)
            line.work(credential_id)
        line.server.script("silence")
        line.work(credential_id, seconds=0.2)
        line.with_gateway(Crashing()).work(credential_id)
    _refusals(line, refused)
    _elsewhere(line, nowhere)
    _http(line, user_key)
    _operations(line)


def _refusals(line: Line, refused: str) -> None:
    line.server.script(_echo(401))
    line.work(None)
    line.work(refused)


def _elsewhere(line: Line, nowhere: str) -> None:
    """A name that no server knows, with the production gateway."""
    direct = line.with_gateway(OpenAIProvider(5.0))
    route = replace(direct.world.engine.route, base_url=f"https://{NOWHERE}")
    lost = replace(direct.world, engine=replace(direct.world.engine, route=route))
    for credential_id in (nowhere, None):
        replace(direct, world=lost).work(credential_id)
    direct.api.ask("POST", f"/model-credentials/{nowhere}/test", {})


def _http(line: Line, user_key: str) -> None:
    one = f"/model-credentials/{user_key}"
    for behave in ("ok", _echo(500), _echo(401), "ok"):
        line.server.script(behave)
        line.api.ask("POST", f"{one}/test", {})
    line.with_gateway(Crashing()).api.ask("POST", f"{one}/test", {})
    for body in ({"apiKey": f"{USER_KEY} x"}, {"label": USER_KEY, "apiKey": USER_KEY}):
        line.api.ask("PUT", one, body)
    line.api.ask("POST", "/model-credentials", {"provider": "deepseek", "apiKey": [USER_KEY]})
    for method in ("GET", "DELETE", "GET"):
        line.api.ask(method, one)
    line.api.ask("GET", "/model-credentials")


def _operations(line: Line) -> None:
    """What operators and administrators are told of all that."""
    settings, asked = line.world.engine.settings, line.api
    chief = replace(asked, token=issue(settings, line.world.user_id, "SUPER_ADMIN", 600))
    for path in ("circuit", "budget", "audit", "doctor"):
        chief.ask("GET", f"/{path}", below="/admin-api/ai")
    chief.ask("POST", "/circuit", {"action": "open", "provider": USER_KEY}, below="/admin-api/ai")
    chief.ask("GET", "/metrics", below="")


@contextmanager
def _line() -> Iterator[Line]:
    with ScriptedProvider() as server:
        environ = {
            **os.environ,
            "AIJOBS_LOG_LEVEL": "debug",
            "AIJOBS_CREDENTIAL_HOSTS": f"api.deepseek.com,{NOWHERE}",
            "AIJOBS_PROVIDER": "openai",
            "AIJOBS_PROVIDER_API_KEY": PLATFORM_KEY,
            "AIJOBS_PROVIDER_BASE_URL": server.base_url,
        }
        settings = Settings.from_env(environ)
        with world(settings) as here, redis.Redis.from_url(_redis_url()) as client:
            gateway = Detour(OpenAIProvider(5.0), server)
            wired = replace(here, engine=replace(here.engine, gateway=gateway))
            broker = worker.build(settings, wired.engine)
            relay = Relay(broker, wired.engine.holder, batch=100, poll_seconds=1)  # type: ignore[arg-type]
            app = falcon.testing.TestClient(create_app(wired.engine, client))
            api = Api(app, issue(settings, wired.user_id, "USER", 600))
            yield Line(wired, api, server, relay)


def main(answers: Path, run: Callable[[Line], None] = _everything) -> None:
    with _line() as line:
        run(line)
        keys = {call.headers["Authorization"] for call in line.server.calls}
        assert keys == {f"Bearer {key}" for key in (USER_KEY, PLATFORM_KEY, REFUSED_KEY)}
        answers.write_text("\n".join(line.api.said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
