"""How rows look on the wire: camelCase, times in ISO 8601 UTC, absent instead of null where
optional.
"""

from __future__ import annotations

from typing import Any

from aijobs.engine.errors import ERRORS
from aijobs.http.moments import moment
from aijobs.http.waiting import waiting_view
from aijobs.models.jobs import Waiting
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob, Flashcard, KnowledgeBase, KnowledgePoint, QuizQuestion
from aijobs.models.transitions import USER_STATUS
from aijobs.models.users import UserSettings


def present(view: dict[str, Any]) -> dict[str, Any]:
    """Without what is None."""
    return {name: value for name, value in view.items() if value is not None}


def camel(name: str) -> str:
    """`max_active_jobs` as `maxActiveJobs`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def limits_view(settings: UserSettings) -> dict[str, Any]:
    """What a user may ask for; null is no limit."""
    return {
        "maxDailyAiJobs": settings.max_daily_ai_jobs,
        "maxDailyTokenBudget": settings.max_daily_token_budget,
        "monthlyTokenQuota": settings.monthly_token_quota,
        "maxActiveJobs": settings.max_active_jobs,
    }


def job_view(
    job: AiJob, *, artifacts: list[Artifact], waiting: Waiting | None, language: str
) -> dict[str, Any]:
    """A job as its user sees it (contract: api.md, Job answer)."""
    view = {
        "jobId": str(job.id),
        "jobType": job.job_type,
        "lifecycleStatus": USER_STATUS[job.lifecycle_status],
        "queueName": job.queue_name,
        "priority": job.priority,
        "progress": job.progress,
        "createdAt": moment(job.created_at),
        "startedAt": moment(job.started_at),
        "finishedAt": moment(job.finished_at),
        "cancelRequested": job.cancel_requested_at is not None,
        "waitingFor": None if waiting is None else waiting_view(waiting, language),
        **_error(job, language),
        **_result(job, artifacts),
    }
    return present(view)


def base_view(base: KnowledgeBase) -> dict[str, Any]:
    return {"id": str(base.id), "title": base.title, "createdAt": moment(base.created_at)}


def point_view(point: KnowledgePoint) -> dict[str, Any]:
    return {
        "id": str(point.id),
        "knowledgeBaseId": str(point.knowledge_base_id),
        "title": point.title,
        "body": point.body,
        "tags": point.tags,
        "position": point.position,
        "createdAt": moment(point.created_at),
    }


def question_view(question: QuizQuestion) -> dict[str, Any]:
    return present(
        {
            "id": str(question.id),
            "knowledgeBaseId": str(question.knowledge_base_id),
            "question": question.question,
            "options": question.options,
            "answerIndex": question.answer_index,
            "explanation": question.explanation,
            "difficulty": question.difficulty,
            "jobId": str(question.job_id),
            "createdAt": moment(question.created_at),
        }
    )


def card_view(card: Flashcard) -> dict[str, Any]:
    return {
        "id": str(card.id),
        "knowledgeBaseId": str(card.knowledge_base_id),
        "front": card.front,
        "back": card.back,
        "tags": card.tags,
        "jobId": str(card.job_id),
        "createdAt": moment(card.created_at),
    }


def artifact_view(artifact: Artifact, row: dict[str, Any]) -> dict[str, Any]:
    """An artifact in full: what was produced, under camelCase names."""
    content = {camel(name): value for name, value in row.items() if value is not None}
    return {
        "artifactType": artifact.artifact_type,
        "artifactId": str(artifact.artifact_id),
        "ordinal": artifact.ordinal,
        **content,
    }


def _error(job: AiJob, language: str) -> dict[str, Any]:
    if job.lifecycle_status not in ("failed", "cancelled") or job.error_code is None:
        return {}
    known = ERRORS.get(job.error_code)
    message = job.public_error_message if known is None else known.public_message(language)
    return {"errorCode": job.error_code, "publicErrorMessage": message}


def _result(job: AiJob, artifacts: list[Artifact]) -> dict[str, Any]:
    if job.lifecycle_status != "succeeded":
        return {}
    listed = [
        {"artifactType": artifact.artifact_type, "artifactId": str(artifact.artifact_id)}
        for artifact in artifacts
    ]
    return {"result": {"artifactCount": len(listed), "artifacts": listed}}
