"""The operations on jobs."""

from __future__ import annotations

from aijobs.engine.request import JobRequest
from aijobs.http.openapi.job_examples import CANCELLED, CANCELLING, QUEUED
from aijobs.http.openapi.job_shapes import Job, Result
from aijobs.http.openapi.operation import API, Answer, Group, Operation
from aijobs.http.openapi.parameters import (
    IDEMPOTENCY_KEY,
    IF_NONE_MATCH,
    JOB_TYPE,
    LANGUAGE,
    PAGING,
    STATUS,
    TARGET,
    WAIT,
)
from aijobs.http.openapi.shape import Page

_JOBS = f"{API}/jobs"
_JOB = f"{_JOBS}/{{jobId}}"

JOBS = Group(
    "Jobs",
    "Work for a model: created, followed, cancelled, and its result.",
    (
        Operation(
            "createJob",
            "POST",
            _JOBS,
            "Create a job",
            description="The fields beyond the common ones belong to the job type. Send a key of "
            "your own (`idempotencyKey` or the `Idempotency-Key` header) to be free to send the "
            "request again: however often it arrives, it makes one job.",
            parameters=(IDEMPOTENCY_KEY, LANGUAGE),
            body=JobRequest,
            answers=(
                Answer(201, "The job was created.", Job, ("Location",), QUEUED),
                Answer(200, "This key has made this job before.", Job, ("Location",)),
            ),
            problems=(
                "INVALID_JOB_TYPE",
                "INVALID_TARGET_TYPE",
                "CREDENTIAL_REQUIRED",
                "CREDENTIAL_NOT_FOUND",
                "TARGET_NOT_FOUND",
                "JOB_NOT_FOUND",
                "DEPENDENCY_FAILED",
                "IDEMPOTENCY_KEY_REUSED",
                "AI_ANALYSIS_DISABLED",
                "DAILY_JOB_LIMIT_EXCEEDED",
                "DAILY_TOKEN_BUDGET_EXCEEDED",
                "PLATFORM_TOKEN_BUDGET_EXCEEDED",
                "PLATFORM_COST_BUDGET_EXCEEDED",
                "TOO_MANY_JOBS",
                "QUOTA_EXCEEDED",
                "PLATFORM_CIRCUIT_OPEN",
                "PLATFORM_CIRCUIT_HALF_OPEN",
            ),
        ),
        Operation(
            "listJobs",
            "GET",
            _JOBS,
            "List your jobs",
            parameters=(STATUS, JOB_TYPE, TARGET, *PAGING, LANGUAGE),
            answers=(Answer(200, "A page of jobs.", Page[Job]),),
        ),
        Operation(
            "getJob",
            "GET",
            _JOB,
            "Read a job, or wait for it to change",
            description="To follow a job, ask again with `wait` and the last `ETag` as "
            "`If-None-Match`: each answer comes when there is something new. A job that is over "
            "is answered at once.",
            parameters=(WAIT, IF_NONE_MATCH, LANGUAGE),
            answers=(
                Answer(200, "The job.", Job, ("ETag",)),
                Answer(304, "The job has not changed.", headers=("ETag",)),
            ),
            problems=("JOB_NOT_FOUND",),
        ),
        Operation(
            "cancelJob",
            "POST",
            f"{_JOB}/cancel",
            "Cancel a job",
            parameters=(LANGUAGE,),
            answers=(
                Answer(200, "The job is cancelled.", Job, example=CANCELLED),
                Answer(
                    202,
                    "It is running; who works on it was asked to stop.",
                    Job,
                    example=CANCELLING,
                ),
            ),
            problems=("JOB_NOT_FOUND", "JOB_NOT_CANCELLABLE", "JOB_ALREADY_CANCELLED"),
        ),
        Operation(
            "getJobResult",
            "GET",
            f"{_JOB}/result",
            "Read what a job produced",
            answers=(Answer(200, "Everything in full.", Result),),
            problems=("JOB_NOT_FOUND", "JOB_NOT_FINISHED"),
        ),
    ),
)
