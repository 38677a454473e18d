"""The parameters that several operations share."""

from __future__ import annotations

from aijobs.engine.importing import FORMATS
from aijobs.http.long_poll import MAX_SECONDS
from aijobs.http.openapi.operation import Parameter
from aijobs.http.paging import DEFAULT_LIMIT, MAX_LIMIT
from aijobs.models.transitions import USER_STATUS

UUID = {"type": "string", "format": "uuid"}

LIMIT = Parameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "How many items a page holds.",
)
CURSOR = Parameter("cursor", {"type": "string"}, "The `nextCursor` of the page before.")
PAGING = (LIMIT, CURSOR)

LANGUAGE = Parameter(
    "Accept-Language",
    {"type": "string", "examples": ["zh-CN"]},
    "The language of `publicErrorMessage`: English or Chinese.",
    place="header",
)
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200},
    "The same as `idempotencyKey` of the body: the same key again finds the job that it made.",
    place="header",
)
WAIT = Parameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": MAX_SECONDS, "default": 0},
    "Seconds to wait until the job differs from `If-None-Match`; without that header, until it "
    "is over. The answer may come earlier.",
)
IF_NONE_MATCH = Parameter(
    "If-None-Match",
    {"type": "string", "examples": ['"running-40"']},
    "The `ETag` that you have: 304 when the job has not changed.",
    place="header",
)
TARGET = Parameter("targetId", UUID, "Only those about this target.")
STATUS = Parameter(
    "status",
    {"type": "string", "enum": list(dict.fromkeys(USER_STATUS.values()))},
    "Only jobs with this status.",
)
JOB_TYPE = Parameter("jobType", {"type": "string"}, "Only jobs of this type.")
OF_KNOWLEDGE_BASE = Parameter("knowledgeBaseId", UUID, "The knowledge base.", required=True)
IN_KNOWLEDGE_BASE = Parameter("knowledgeBaseId", UUID, "Only those of this knowledge base.")
ABOUT_KNOWLEDGE_BASE = Parameter(
    "knowledgeBaseId",
    UUID,
    "Only those about this knowledge base, its points and materials. What is about you is about "
    "all of them, unless it names a point.",
)
OF_POINT = Parameter("knowledgePointId", UUID, "Only those of this point.")
FILE_FORMAT = Parameter(
    "format", {"type": "string", "enum": list(FORMATS)}, "What the file is, if its type is silent."
)

#: What the ids in paths stand for.
PATH_IDS = {
    "jobId": "A job of yours.",
    "baseId": "A knowledge base of yours.",
    "pointId": "A point of this knowledge base.",
    "materialId": "A material of yours.",
    "credentialId": "A model credential of yours.",
    "userId": "A user.",
}
