"""/analyses, /weak-points, /recommendations, /recall-evaluations: lists by target and base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import falcon

from aijobs.http.knowledge_bases import own_base
from aijobs.http.middleware import identity_of
from aijobs.http.moments import moment
from aijobs.http.paging import uuid_param, window_of
from aijobs.http.views import present
from aijobs.models import analyses
from aijobs.models import database as db
from aijobs.models.analyses import About, Analysis
from aijobs.models.tables import (
    AiLearningAnalysis,
    NextActionRecommendation,
    RecallEvaluation,
    WeakPointCandidate,
)


class Analyses:
    """A list of one kind of analysis rows, by `targetId` and `knowledgeBaseId`."""

    def __init__(self, table: Analysis, view: Callable[[Any], dict[str, Any]]) -> None:
        self._table = table
        self._view = view

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        about = About(
            identity_of(req).user_id,
            target_id=uuid_param(req, "targetId"),
            base_id=uuid_param(req, "knowledgeBaseId"),
        )
        if about.base_id is not None:
            own_base(req, about.base_id)
        found = db.read(
            lambda: analyses.page(self._table, about, after=window.after, limit=window.limit + 1)
        )
        resp.media = window.page(found, lambda row: present({**_common(row), **self._view(row)}))


def add_routes(app: Any, prefix: str) -> None:
    """The routes of all four kinds."""
    for path, table, view in _KINDS:
        app.add_route(f"{prefix}/{path}", Analyses(table, view))


def _common(row: Any) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "jobId": str(row.job_id),
        "targetType": row.target_type,
        "targetId": str(row.target_id),
        "createdAt": moment(row.created_at),
    }


def _analysis(row: AiLearningAnalysis) -> dict[str, Any]:
    return {"summary": row.summary, "mastery": row.mastery, "confidence": row.confidence}


def _weak_point(row: WeakPointCandidate) -> dict[str, Any]:
    return {
        "topic": row.topic,
        "severity": row.severity,
        "evidence": row.evidence,
        "knowledgePointId": row.knowledge_point_id and str(row.knowledge_point_id),
    }


def _recommendation(row: NextActionRecommendation) -> dict[str, Any]:
    return {
        "title": row.title,
        "priority": row.priority,
        "minutes": row.minutes,
        "reason": row.reason,
        "knowledgePointId": row.knowledge_point_id and str(row.knowledge_point_id),
    }


def _evaluation(row: RecallEvaluation) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "score": row.score,
        "clarity": row.clarity,
        "missing": row.missing,
        "feedback": row.feedback,
    }


_KINDS: tuple[tuple[str, Analysis, Callable[[Any], dict[str, Any]]], ...] = (
    ("analyses", AiLearningAnalysis, _analysis),
    ("weak-points", WeakPointCandidate, _weak_point),
    ("recommendations", NextActionRecommendation, _recommendation),
    ("recall-evaluations", RecallEvaluation, _evaluation),
)
