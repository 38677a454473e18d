"""/doctor: the invariants of the system, each with its count of violations; all 0 when healthy."""

from __future__ import annotations

import falcon

from aijobs.engine.engine import Engine
from aijobs.engine.limits import platform_budget
from aijobs.models.doctor import examine


class Doctor:
    """Reads more than other requests do: for people, not for every minute."""

    def __init__(self, engine: Engine) -> None:
        self._settings = engine.settings

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        findings = examine(
            platform_budget(self._settings), missed_seconds=self._settings.missed_seconds
        )
        resp.media = {
            "healthy": not any(finding.violations for finding in findings),
            "items": [
                {
                    "invariant": finding.name,
                    "meaning": finding.meaning,
                    "violations": finding.violations,
                }
                for finding in findings
            ],
        }
