"""Who may use the admin API: ADMIN reads, SUPER_ADMIN changes, a user gets nothing of it."""

from __future__ import annotations

import pytest
import redis

from aijobs.http.tokens import Role
from tests.integration.http.caller import ADMIN_PREFIX, Caller, administrator, problem
from tests.integration.http.routes import admin_routes
from tests.world import World, settings_for, whole_database, world

FORBIDDEN: tuple[int, str, list[str]] = (403, "FORBIDDEN", [])
BODIES = {"/circuit": {"action": "open"}, "/users/{user_id:uuid}/limits": {"maxActiveJobs": 9}}


def _ask(who: Caller, here: World, method: str, route: str) -> tuple[int, str | None]:
    path = route.replace("{user_id:uuid}", str(here.user_id))
    headers = {"Authorization": f"Bearer {who.token}"}
    body = BODIES[route] if method != "GET" else None
    answer = who.client.simulate_request(
        method, f"{ADMIN_PREFIX}{path}", headers=headers, json=body
    )
    return answer.status_code, answer.json.get("code")


@pytest.mark.parametrize(
    ("role", "reads", "changes"),
    [
        ("USER", (403, "FORBIDDEN"), (403, "FORBIDDEN")),
        ("ADMIN", (200, None), (403, "FORBIDDEN")),
        ("SUPER_ADMIN", (200, None), (200, None)),
    ],
)
def test_each_role_on_every_route(
    here: World,
    redis_client: redis.Redis,
    role: Role,
    reads: tuple[int, str | None],
    changes: tuple[int, str | None],
) -> None:
    who = administrator(here, redis_client, role, here.user_id)
    before = whole_database()
    routes = admin_routes(who)
    assert {method for method, _ in routes} == {"GET", "POST", "PUT"}
    for method, route in routes:
        expected = reads if method == "GET" else changes
        assert _ask(who, here, method, route) == expected, (method, route)
    assert (whole_database() == before) is (changes[0] == 403)


def test_who_may_not_ask_does_not_learn_what_there_is(
    here: World, redis_client: redis.Redis
) -> None:
    user = administrator(here, redis_client, "USER")
    for path in ("", "/", "/nowhere", "/circuit/nowhere", "/jobs"):
        assert problem(user.get(path)) == FORBIDDEN
    for role in ("ADMIN", "SUPER_ADMIN"):
        assert problem(administrator(here, redis_client, role).get("/nowhere"))[0] == 404


def test_a_reader_who_tries_another_method_is_refused_as_such(reader: Caller) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        headers = {"Authorization": f"Bearer {reader.token}"}
        answer = reader.client.simulate_request(
            method, f"{ADMIN_PREFIX}/circuit", headers=headers, json={"action": "open"}
        )
        assert problem(answer) == FORBIDDEN


def test_the_admin_api_counts_requests_of_its_own(database_url: str, redis_url: str) -> None:
    settings = settings_for(
        database_url, redis_url, admin_requests_per_minute=2, user_requests_per_minute=1
    )
    with world(settings) as here, redis.Redis.from_url(redis_url) as client:
        admin = administrator(here, client)
        answers = [admin.get("/budget") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[0].headers["RateLimit-Limit"] == "2"
        assert administrator(here, client).get("/budget").status_code == 200
