"""Every route that reads a body, with a body that it takes, and what makes bodies bad."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import falcon.testing

from tests.integration.http.caller import Caller
from tests.world import World

ROUTES = (
    "POST /jobs",
    "POST /jobs of an answer",
    "POST /knowledge-bases",
    "PUT /knowledge-bases/1",
    "POST /knowledge-bases/1/points",
    "PUT /knowledge-bases/1/points/1",
    "POST /materials",
    "PUT /materials/1",
    "PUT /profile",
    "PUT /settings",
    "POST /study-records",
    "POST /model-credentials",
    "PUT /model-credentials/1",
)

#: name -> (body, words of which one must be in the answer's detail).
BODIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "blank": (b" \r\n\t", "empty"),
    "null": (b"null", "object"),
    "an array": (b"[]", "object"),
    "a text": (b'"text"', "object"),
    "a number": (b"1", "object"),
    "true": (b"true", "object"),
    "NaN": (b"NaN", "NaN"),
    "infinity": (b"-Infinity", "Infinity"),
    "5 000 digits": (b"9" * 5000, "digits"),
    "20 000 arrays": (b"[" * 20_000 + b"]" * 20_000, "nested"),
    "20 000 open arrays": (b"[" * 20_000, "nested"),
    "20 000 objects": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "nested"),
    "half an object": (b'{"title": "x"', "JSON"),
    "two objects": (b"{}{}", "JSON"),
    "single quotes": (b"{'title': 'x'}", "JSON"),
    "a form": (b"title=x", "JSON"),
    "not UTF-8": (b'{"title": "\xff"}', "UTF-8"),
    "UTF-16": ('{"title": "x"}'.encode("utf-16"), "UTF-8"),
    "a raw line break": (b'{"title": "a\nb"}', "JSON"),
    "a key twice": (b'{"title": "a", "title": "b"}', "twice"),
}
#: What takes the place of a string or a number in a body, as JSON.
INSTEAD = {
    "U+0000": b'"a\\u0000b"',
    "half a pair": b'"a\\ud800b"',
    "the other half": b'"\\udfff"',
    "NaN": b"NaN",
    "a huge float": b"1e999",
    "5 000 digits": b"1" * 5000,
}

#: Route -> method, path and body.
Doors = dict[str, tuple[str, str, dict[str, Any]]]


def doors_of(me: Caller, here: World) -> Doors:
    """Route -> method, path and a body that it takes. What the paths name exists."""
    base = f"/knowledge-bases/{here.base_id}"
    point = me.get(f"{base}/points").json["items"][0]["id"]
    text = {"title": "Chapter", "body": "Text."}
    material = me.post("/materials", text).json["id"]
    quiz = {"jobType": "quiz_generation", "targetType": "knowledge_base"}
    recall = {"jobType": "active_recall", "targetType": "knowledge_point"}
    full = {
        "apiKeyMode": "platform_key",
        "credentialId": str(uuid4()),
        "idempotencyKey": "key",
        "priority": 60,
        "after": [str(here.create().id)],
        "pointIds": [point],
        "questionCount": 3,
    }
    record = {
        "knowledgePointId": point,
        "activity": "quiz",
        "score": 0.5,
        "durationMs": 1,
        "at": "2026-03-01T09:30:00Z",
    }
    profile = {"goals": "g", "level": "l", "locale": "en", "displayName": "Li"}
    key = {"label": "Mine", "provider": "openai", "apiKey": "a-key-of-mine-0001"}
    key["baseUrl"] = "https://api.openai.com/v1"
    credential = me.post("/model-credentials", key).json["id"]
    bodies: dict[str, dict[str, Any]] = {
        "POST /jobs": {**quiz, "targetId": str(here.base_id), **full},
        "POST /jobs of an answer": {**recall, "targetId": point, "answerText": "I think so."},
        "POST /knowledge-bases": {"title": "Base"},
        "PUT /knowledge-bases/1": {"title": "Other"},
        "POST /knowledge-bases/1/points": {"points": [{**text, "tags": ["a"]}]},
        "PUT /knowledge-bases/1/points/1": {**text, "tags": ["a"]},
        "POST /materials": {**text, "knowledgeBaseId": str(here.base_id)},
        "PUT /materials/1": {**text, "knowledgeBaseId": str(here.base_id)},
        "PUT /profile": {**profile, "preferences": {"a": {"b": ["c", 1]}}},
        "PUT /settings": {"aiEnabled": True, "timeZone": "UTC"},
        "POST /study-records": {"records": [record]},
        "POST /model-credentials": key,
        "PUT /model-credentials/1": key,
    }
    paths = {
        "/knowledge-bases/1": base,
        "/knowledge-bases/1/points": f"{base}/points",
        "/knowledge-bases/1/points/1": f"{base}/points/{point}",
        "/materials/1": f"/materials/{material}",
        "/model-credentials/1": f"/model-credentials/{credential}",
    }
    made = {}
    for route, body in bodies.items():
        method, path, *_ = route.split()
        made[route] = (method, paths.get(path, path), body)
    assert tuple(made) == ROUTES
    return made


def send(
    me: Caller, door: tuple[str, str, Any], raw: bytes, content_type: str = "application/json"
) -> falcon.testing.Result:
    """Knock at a door with any bytes."""
    method, path, _ = door
    return me.ask(method, path, body=raw, content_type=content_type)


Path = tuple[str | int, ...]


def places(value: Any, so_far: Path = ()) -> Iterator[Path]:
    """Where something stands in a JSON value, the value itself first."""
    yield so_far
    items: Any = ()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in items:
        yield from places(inner, (*so_far, step))


def leaves(value: Any) -> list[Path]:
    """Where its strings and numbers stand."""
    return [place for place in places(value) if not isinstance(at(value, place), dict | list)]


def at(value: Any, place: Path) -> Any:
    for step in place:
        value = value[step]
    return value


def changed_at(value: Any, place: Path, new: Any) -> Any:
    """A copy with something else at this place."""
    if not place:
        return new
    changed = copy.deepcopy(value)
    at(changed, place[:-1])[place[-1]] = new
    return changed
