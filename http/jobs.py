"""POST and GET /jobs, cancel and result: the user's own jobs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import falcon

from aijobs.engine.cancelling import cancel_job
from aijobs.engine.engine import Engine
from aijobs.engine.refusal import Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.signals import Signals
from aijobs.engine.submit import submit
from aijobs.http.body import read_json
from aijobs.http.long_poll import LongPoll, etag, is_known, known_etags, wait_seconds
from aijobs.http.middleware import identity_of
from aijobs.http.paging import choice_param, uuid_param, window_of
from aijobs.http.problems import speaks_chinese
from aijobs.http.views import artifact_view, job_view
from aijobs.models import database as db
from aijobs.models import jobs, produced, results
from aijobs.models.errors import JobNotFound
from aijobs.models.jobs import JobFilter
from aijobs.models.tables import AiJob

_STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")


class Jobs:
    """/jobs and what is below it. Responders are suffixed by Falcon's `suffix`."""

    def __init__(self, engine: Engine, signals: Signals) -> None:
        self._engine = engine
        self._signals = signals
        self._long_poll = LongPoll(engine.settings.api_threads)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Create: 201, or 200 with the job that this key has already made."""
        body = read_json(req)
        user_id = identity_of(req).user_id
        done = submit(self._engine, user_id, body, req.get_header("Idempotency-Key"))
        if done.created:
            self._signals.hint_outbox()
        resp.status = falcon.HTTP_201 if done.created else falcon.HTTP_200
        resp.location = f"{req.path.rstrip('/')}/{done.job.id}"
        resp.media = self._view(req, done.job)

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """A page of the user's jobs, newest first."""
        window = window_of(req)
        wanted = JobFilter(
            user_id=identity_of(req).user_id,
            status=choice_param(req, "status", _STATUSES),
            job_type=req.get_param("jobType"),
            target_id=uuid_param(req, "targetId"),
        )

        def look() -> tuple[list[AiJob], dict[UUID, Any]]:
            found = jobs.page(wanted, after=window.after, limit=window.limit + 1)
            return found, results.artifacts_of([job.id for job in found])

        found, artifacts = db.read(look)
        language = "zh" if speaks_chinese(req) else "en"
        resp.media = window.page(
            found,
            lambda job: job_view(
                job, artifacts=artifacts.get(job.id, []), waiting=None, language=language
            ),
        )

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, job_id: UUID) -> None:
        """One job; with `?wait=25` as soon as its ETag is not If-None-Match's any more."""
        seconds = wait_seconds(req)
        known = known_etags(req)
        job = self._long_poll.changed(lambda: self._own(req, job_id), known, seconds)
        resp.set_header("ETag", etag(job))
        if is_known(job, known):
            resp.status = falcon.HTTP_304
        else:
            resp.media = self._view(req, job)

    def on_post_cancel(self, req: falcon.Request, resp: falcon.Response, job_id: UUID) -> None:
        """200 when it is cancelled, 202 when its holder has been asked."""
        self._own(req, job_id)
        actor = f"user:{identity_of(req).user_id}"
        job = cancel_job(
            self._engine.registry, self._signals, job_id, reason="requested by user", actor=actor
        )
        is_over = job.lifecycle_status == "cancelled"
        resp.status = falcon.HTTP_200 if is_over else falcon.HTTP_202
        resp.media = self._view(req, job)

    def on_get_result(self, req: falcon.Request, resp: falcon.Response, job_id: UUID) -> None:
        """The artifacts in full."""
        job = self._own(req, job_id)
        if job.lifecycle_status != "succeeded":
            detail = Sentence("The job is {status}.", status=job.lifecycle_status)
            raise Refused("JOB_NOT_FINISHED", detail)
        artifacts = db.read(lambda: results.artifacts_of([job.id])).get(job.id, [])
        rows = db.read(lambda: produced.rows_of(artifacts))
        resp.media = {
            "jobId": str(job.id),
            "jobType": job.job_type,
            "artifactCount": len(artifacts),
            "artifacts": [artifact_view(item, rows[item.artifact_id]) for item in artifacts],
        }

    def _own(self, req: falcon.Request, job_id: UUID) -> AiJob:
        job = db.read(lambda: jobs.of_user(job_id, identity_of(req).user_id))
        if job is None:
            raise JobNotFound(job_id)
        return job

    def _view(self, req: falcon.Request, job: AiJob) -> dict[str, Any]:
        known, routes = self._engine.registry.known(), self._engine.circuit_routes()

        def look() -> tuple[list[Any], Any]:
            succeeded = job.lifecycle_status == "succeeded"
            artifacts = results.artifacts_of([job.id]).get(job.id, []) if succeeded else []
            return artifacts, jobs.waiting_for(job, known, routes)

        artifacts, waiting = db.read(look)
        language = "zh" if speaks_chinese(req) else "en"
        return job_view(job, artifacts=artifacts, waiting=waiting, language=language)
