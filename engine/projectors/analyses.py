"""The projectors of analyses, plans and evaluations: one row an item, in the output's order."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

from aijobs.engine.projectors.transaction import Transaction
from aijobs.models.analyses import add_rows
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob

Items = list[dict[str, Any]]


def project_learning_state(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """learning_state_analysis -> ai_learning_analysis: one row for the whole analysis."""
    analysis = {
        "summary": output["summary"],
        "mastery": [_with_point(tx, item, "knowledgePointId") for item in output["mastery"]],
        "confidence": output.get("confidence"),
    }
    return _add("ai_learning_analysis", job, [analysis])


def project_weak_points(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """weak_point_analysis -> weak_point_candidate."""
    items = [_with_point(tx, item, "knowledge_point_id") for item in output["weak_points"]]
    return _add("weak_point_candidate", job, items)


def project_actions(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """next_action_planning -> next_action_recommendation."""
    items = [_with_point(tx, item, "knowledge_point_id") for item in output["actions"]]
    return _add("next_action_recommendation", job, items)


def project_recall(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """active_recall and feynman_evaluation -> recall_evaluation."""
    evaluation = {
        "kind": job.job_type,
        "score": output["score"],
        "clarity": output.get("clarity"),
        "missing": output["missing"] if "missing" in output else output["gaps"],
        "feedback": output["feedback"],
    }
    return _add("recall_evaluation", job, [evaluation])


def _with_point(tx: Transaction, item: dict[str, Any], name: str) -> dict[str, Any]:
    point = tx.refs.get(item.get("ref") or "")
    kept = {key: value for key, value in item.items() if key != "ref"}
    return kept | ({} if point is None else {name: str(point)})


def _add(table: str, job: AiJob, items: Items) -> list[Artifact]:
    ids = [uuid5(job.id, f"{table}:{ordinal}") for ordinal in range(len(items))]
    add_rows(table, job, [{"id": str(key), **item} for key, item in zip(ids, items, strict=True)])
    return [Artifact(table, key, ordinal) for ordinal, key in enumerate(ids)]
