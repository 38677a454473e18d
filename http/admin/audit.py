"""/audit: who changed what of the platform, newest first."""

from __future__ import annotations

from typing import Any

import falcon

from aijobs.http.moments import moment
from aijobs.http.paging import serial, window_of
from aijobs.http.views import camel
from aijobs.models import audit
from aijobs.models import database as db
from aijobs.models.tables import AdminAudit


class Audit:
    """The changes of circuits, by whoever made them, and those of administrators."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req, key=serial)
        what, target = req.get_param("what"), req.get_param("target")
        found = db.read(
            lambda: audit.page(after=window.after, limit=window.limit + 1, what=what, target=target)
        )
        resp.media = window.page(found, _view, by="at")


def _view(row: AdminAudit) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "at": moment(row.at),
        "who": row.who,
        "what": row.what,
        "target": row.target,
        "before": {camel(name): value for name, value in (row.before or {}).items()},
        "after": {camel(name): value for name, value in (row.after or {}).items()},
    }
