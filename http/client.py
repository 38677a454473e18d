"""A small client of the user API: what the demo and other programs need of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

_TIMEOUT_SECONDS = 30.0
_RECORDS_AT_ONCE = 500


class ApiError(Exception):
    """The API answered with a problem; `problem` is its body."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem.get('code')}: {problem.get('detail')}")
        self.problem = problem


class Client:
    """Calls /api/ai of one API as one user."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/ai",
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def add_base(self, title: str) -> str:
        """Create a knowledge base; returns its id."""
        return str(self._send("POST", "/knowledge-bases", {"title": title})["id"])

    def add_points(self, base_id: str, points: list[dict[str, Any]]) -> dict[str, str]:
        """Append points to a knowledge base; returns title -> id."""
        added = self._send("POST", f"/knowledge-bases/{base_id}/points", {"points": points})
        return {point["title"]: point["id"] for point in added["items"]}

    def add_study_records(self, records: list[dict[str, Any]]) -> None:
        """Store study records, as many requests as it takes."""
        for start in range(0, len(records), _RECORDS_AT_ONCE):
            part = records[start : start + _RECORDS_AT_ONCE]
            self._send("POST", "/study-records", {"records": part})

    def create_job(
        self, job_type: str, target_type: str, target_id: str, **parameters: Any
    ) -> dict[str, Any]:
        """Ask for a job on a target."""
        target = {"targetType": target_type, "targetId": target_id}
        return self._send("POST", "/jobs", {"jobType": job_type, **target, **parameters})

    def job(self, job_id: str) -> dict[str, Any]:
        """A job as it is now."""
        return self._send("GET", f"/jobs/{job_id}")

    def result(self, job_id: str) -> dict[str, Any]:
        """What a succeeded job produced, in full."""
        return self._send("GET", f"/jobs/{job_id}/result")

    def every(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self._send("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                return

    def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        answer = self._http.request(method, path, json=body, params=wanted)
        content: dict[str, Any] = answer.json()
        if answer.is_error:
            raise ApiError(content)
        return content
