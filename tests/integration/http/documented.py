"""Answers of the application held against its own document."""

from __future__ import annotations

import re
from typing import Any

import falcon.testing
from openapi_schema_validator import OAS31Validator, oas31_format_checker

from aijobs.http.problems import MEDIA_TYPE
from tests.integration.http.caller import PREFIX, Caller


class Documented:
    """Asks as a user and checks that each answer is one that the document tells of.

    Fields that the document does not know count as faults here, although clients must bear them.
    """

    def __init__(self, me: Caller) -> None:
        self._me = me
        self.document: dict[str, Any] = me.client.simulate_get("/openapi.json").json
        schemas = self.document["components"]["schemas"]
        self._closed = {"schemas": {name: _closed(schema) for name, schema in schemas.items()}}
        self.answered: set[tuple[str, int]] = set()

    def get(self, path: str, **more: Any) -> falcon.testing.Result:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> falcon.testing.Result:
        sent = {} if body is None else {"json": body}
        return self.ask("POST", path, **sent, **more)

    def send(self, path: str, raw: bytes, content_type: str) -> falcon.testing.Result:
        """POST a file."""
        return self.ask("POST", path, body=raw, content_type=content_type)

    def put(self, path: str, body: Any) -> falcon.testing.Result:
        return self.ask("PUT", path, json=body)

    def delete(self, path: str) -> falcon.testing.Result:
        return self.ask("DELETE", path)

    def ask(
        self, method: str, path: str, *, token: bool = True, **more: Any
    ) -> falcon.testing.Result:
        """The answer, after it has been checked. Paths are below the user API's prefix."""
        bearer = {"Authorization": f"Bearer {self._me.token}"} if token else {}
        headers = {**bearer, **more.pop("headers", {})}
        answer = self._me.client.simulate_request(method, PREFIX + path, headers=headers, **more)
        self.check(method, PREFIX + path, answer)
        return answer

    def check(self, method: str, path: str, answer: falcon.testing.Result) -> None:
        """Fail unless the operation tells of this status, media type, headers and body."""
        operation = self._operation(method, path)
        assert str(answer.status_code) in operation["responses"], (answer.status, answer.text)
        told = operation["responses"][str(answer.status_code)]
        for name in told.get("headers", ()):
            assert name in answer.headers or name == "Retry-After", name
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        if "content" in told:
            assert kind in told["content"], kind
            self._check_body(told["content"][kind], kind, answer)
        else:
            assert answer.content == b""
        self.answered.add((operation["operationId"], answer.status_code))

    def _check_body(self, media: dict[str, Any], kind: str, answer: falcon.testing.Result) -> None:
        if kind in ("application/json", MEDIA_TYPE) and "schema" in media:
            whole = {**media["schema"], "components": self._closed}
            validator = OAS31Validator(whole, format_checker=oas31_format_checker)
            faults = [
                f"{error.json_path}: {error.message}"
                for error in validator.iter_errors(answer.json)
            ]
            assert faults == [], answer.text

    def _operation(self, method: str, path: str) -> dict[str, Any]:
        for template, methods in self.document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path) and method.lower() in methods:
                found: dict[str, Any] = methods[method.lower()]
                return found
        raise AssertionError(f"{method} {path} is not documented")


def _closed(schema: Any) -> Any:
    """The schema with every object closed to fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(item) for key, item in schema.items()}
    return {"additionalProperties": False, **closed} if "properties" in schema else closed
