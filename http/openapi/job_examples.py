"""Examples of a job in its states."""

from __future__ import annotations

from pydantic.config import JsonDict

QUEUED: JsonDict = {
    "jobId": "0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4",
    "jobType": "quiz_generation",
    "lifecycleStatus": "queued",
    "queueName": "ai-interactive",
    "priority": 50,
    "progress": 0,
    "createdAt": "2026-11-29T14:02:03.123456Z",
    "cancelRequested": False,
    "waitingFor": {
        "reason": "queue",
        "since": "2026-11-29T14:02:03.123456Z",
        "detail": "waits for a free worker of queue ai-interactive",
    },
}
CANCELLING: JsonDict = {
    **{name: value for name, value in QUEUED.items() if name != "waitingFor"},
    "lifecycleStatus": "running",
    "progress": 40,
    "startedAt": "2026-11-29T14:02:03.140211Z",
    "cancelRequested": True,
}
CANCELLED: JsonDict = {
    **CANCELLING,
    "lifecycleStatus": "cancelled",
    "finishedAt": "2026-11-29T14:02:05.002518Z",
    "errorCode": "JOB_CANCELLED",
    "publicErrorMessage": "The job was cancelled.",
}
SUCCEEDED: JsonDict = {
    **CANCELLING,
    "lifecycleStatus": "succeeded",
    "progress": 100,
    "finishedAt": "2026-11-29T14:02:09.871902Z",
    "cancelRequested": False,
    "result": {
        "artifactCount": 1,
        "artifacts": [
            {
                "artifactType": "quiz_question_candidate",
                "artifactId": "4d1f7f0a-6a0e-5c39-9a53-0a6f3c1f5b21",
            }
        ],
    },
}
