"""RFC 9457 problems: one table from code to status and sentence, and one writer.

Invariant: whatever goes wrong, the answer has this body, and a sentence that holds no host, path,
stack or text of a provider.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import falcon
import structlog

from aijobs.engine.bugs import frames_of
from aijobs.engine.cancelling import NotCancellable
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.vault import VaultClosed
from aijobs.http.chinese import in_chinese
from aijobs.http.tokens import InvalidToken
from aijobs.models.errors import DatabaseAway, JobAlreadyTerminal, JobNotFound, TargetGone

MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProblemClass:
    """One code of the API: HTTP status, whether to try again, and its title."""

    code: str
    status: int
    en: str
    zh: str
    retryable: bool = False


_CLASSES = (
    ProblemClass("INVALID_REQUEST", 400, "The request is not valid", "请求无效"),
    ProblemClass("INVALID_JOB_TYPE", 400, "The job type is not known", "任务类型不存在"),
    ProblemClass("INVALID_TARGET_TYPE", 400, "The target type does not fit", "目标类型不适用"),
    ProblemClass("AI_ANALYSIS_DISABLED", 400, "AI is switched off", "AI 功能已关闭"),
    ProblemClass("DAILY_JOB_LIMIT_EXCEEDED", 400, "Today's jobs are used up", "今日任务次数已用完"),
    ProblemClass(
        "DAILY_TOKEN_BUDGET_EXCEEDED", 400, "Today's tokens are used up", "今日令牌额度已用完"
    ),
    ProblemClass(
        "PLATFORM_TOKEN_BUDGET_EXCEEDED",
        400,
        "The platform's tokens of today are used up",
        "平台今日令牌额度已用完",
    ),
    ProblemClass(
        "PLATFORM_COST_BUDGET_EXCEEDED",
        400,
        "The platform's budget of today is used up",
        "平台今日预算已用完",
    ),
    ProblemClass("CREDENTIAL_REQUIRED", 400, "A model credential is needed", "需要模型密钥"),
    ProblemClass("UNAUTHENTICATED", 401, "A valid token is needed", "需要有效的身份令牌"),
    ProblemClass("FORBIDDEN", 403, "Not allowed", "没有权限"),
    ProblemClass("NOT_FOUND", 404, "There is nothing here", "未找到"),
    ProblemClass("JOB_NOT_FOUND", 404, "There is no such job", "任务不存在"),
    ProblemClass("CREDENTIAL_NOT_FOUND", 404, "There is no such credential", "模型密钥不存在"),
    ProblemClass("TARGET_NOT_FOUND", 404, "There is no such target", "目标不存在"),
    ProblemClass("METHOD_NOT_ALLOWED", 405, "The method is not supported here", "不支持该方法"),
    ProblemClass("JOB_NOT_CANCELLABLE", 409, "The job cannot be cancelled", "任务无法取消"),
    ProblemClass("JOB_ALREADY_CANCELLED", 409, "The job is cancelled already", "任务已经取消"),
    ProblemClass("JOB_NOT_FINISHED", 409, "The job has no result yet", "任务尚未完成"),
    ProblemClass(
        "IDEMPOTENCY_KEY_REUSED",
        409,
        "The idempotency key was used with another body",
        "幂等键已用于其他请求",
    ),
    ProblemClass("DEPENDENCY_FAILED", 409, "A parent job did not succeed", "前置任务未成功"),
    ProblemClass("PAYLOAD_TOO_LARGE", 413, "The body is too large", "请求体过大"),
    ProblemClass(
        "UNSUPPORTED_MEDIA_TYPE", 415, "The content type is not supported", "不支持的内容类型"
    ),
    ProblemClass("TOO_MANY_JOBS", 429, "Too many jobs are under way", "进行中的任务过多", True),
    ProblemClass(
        "QUOTA_EXCEEDED", 429, "The tokens of this month are used up", "本月令牌额度已用完", True
    ),
    ProblemClass("RATE_LIMITED", 429, "Too many requests", "请求过于频繁", True),
    ProblemClass("INTERNAL_ERROR", 500, "Something went wrong on our side", "系统内部错误", True),
    ProblemClass(
        "PLATFORM_CIRCUIT_OPEN", 503, "The AI service is out of order", "AI 服务暂停中", True
    ),
    ProblemClass(
        "PLATFORM_CIRCUIT_HALF_OPEN", 503, "The AI service is being tried", "AI 服务恢复中", True
    ),
    ProblemClass(
        "PLATFORM_UNAVAILABLE", 503, "The platform is not available", "平台暂不可用", True
    ),
)
PROBLEMS = {item.code: item for item in _CLASSES}

_BY_STATUS = {
    400: "INVALID_REQUEST",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    503: "PLATFORM_UNAVAILABLE",
}


def speaks_chinese(req: falcon.Request) -> bool:
    """Whether the first language of Accept-Language that we have is Chinese."""
    weights: dict[str, float] = {}
    for part in (req.get_header("Accept-Language") or "").split(","):
        tag, _, parameter = part.partition(";")
        language = tag.strip().lower().partition("-")[0]
        weights[language] = max(_weight(parameter), weights.get(language, 0.0))
    ours = [language for language in weights if language in ("zh", "en") and weights[language] > 0]
    return bool(ours) and max(ours, key=weights.__getitem__) == "zh"


def write_problem(
    req: falcon.Request,
    resp: falcon.Response,
    code: str,
    detail: Sentence | None = None,
    errors: tuple[FieldFault, ...] = (),
) -> None:
    """Make the answer a problem of this code."""
    problem = PROBLEMS[code]
    is_chinese = speaks_chinese(req)
    title = problem.zh if is_chinese else problem.en
    say = in_chinese if is_chinese else str
    resp.status = falcon.code_to_http_status(problem.status)
    resp.content_type = MEDIA_TYPE
    body: dict[str, Any] = {
        "type": f"urn:aijobs:problem:{code.lower()}",
        "title": title,
        "status": problem.status,
        "detail": say(detail) if detail else title,
        "code": code,
        "retryable": problem.retryable,
        "requestId": getattr(req.context, "request_id", None),
    }
    if errors:
        body["errors"] = [{"field": fault.field, "message": say(fault.message)} for fault in errors]
    resp.text = json.dumps(body, ensure_ascii=False)


def handle_all(app: falcon.App[Any, Any]) -> None:
    """Every exception of a request becomes a problem."""
    app.add_error_handler(Exception, _on_bug)
    app.add_error_handler(falcon.HTTPError, _on_http_error)
    app.add_error_handler(Refused, _on_refused)
    app.add_error_handler(InvalidToken, _on_invalid_token)
    app.add_error_handler(JobNotFound, _on_job_not_found)
    app.add_error_handler(JobAlreadyTerminal, _on_terminal)
    app.add_error_handler(NotCancellable, _on_not_cancellable)
    app.add_error_handler(TargetGone, _on_target_gone)
    app.add_error_handler(DatabaseAway, _on_database_away)
    app.add_error_handler(VaultClosed, _on_vault_closed)


def _weight(parameter: str) -> float:
    """What `q=0.5` says; no parameter is a 1, and what cannot be read is a 0."""
    name, _, text = parameter.partition("=")
    if not name.strip():
        return 1.0
    try:
        weight = float(text) if name.strip().lower() == "q" else 1.0
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0


def _on_bug(req: Any, resp: Any, error: Exception, params: Any) -> None:
    log.error("request_failed", path=req.path, **frames_of(error))
    write_problem(req, resp, "INTERNAL_ERROR")


def _on_http_error(req: Any, resp: Any, error: falcon.HTTPError, params: Any) -> None:
    status = error.status_code
    code = _BY_STATUS.get(status, "INVALID_REQUEST" if status < 500 else "INTERNAL_ERROR")
    for name, value in (error.headers or {}).items() if isinstance(error.headers, dict) else ():
        resp.set_header(name, value)
    said = error.description and Sentence.quoting(error.description, error.description)
    write_problem(req, resp, code, said or None)


def _on_refused(req: Any, resp: Any, error: Refused, params: Any) -> None:
    if error.retry_after is not None:
        resp.set_header("Retry-After", str(math.ceil(error.retry_after)))
    write_problem(req, resp, error.code, error.detail, error.errors)


def _on_invalid_token(req: Any, resp: Any, error: InvalidToken, params: Any) -> None:
    log.info("token_refused", reason=str(error))
    resp.set_header("WWW-Authenticate", "Bearer")
    detail = Sentence("Send a valid token: Authorization: Bearer <JWT>.")
    write_problem(req, resp, "UNAUTHENTICATED", detail)


def _on_job_not_found(req: Any, resp: Any, error: JobNotFound, params: Any) -> None:
    write_problem(req, resp, "JOB_NOT_FOUND", Sentence("No job of yours has this id."))


def _on_terminal(req: Any, resp: Any, error: JobAlreadyTerminal, params: Any) -> None:
    if error.status == "cancelled":
        write_problem(req, resp, "JOB_ALREADY_CANCELLED")
    else:
        write_problem(
            req, resp, "JOB_NOT_CANCELLABLE", Sentence("The job has {status}.", status=error.status)
        )


def _on_not_cancellable(req: Any, resp: Any, error: NotCancellable, params: Any) -> None:
    write_problem(req, resp, "JOB_NOT_CANCELLABLE", Sentence("A job of this type runs to its end."))


def _on_target_gone(req: Any, resp: Any, error: TargetGone, params: Any) -> None:
    write_problem(
        req, resp, "TARGET_NOT_FOUND", Sentence("No knowledge base of yours has this id.")
    )


def _on_database_away(req: Any, resp: Any, error: DatabaseAway, params: Any) -> None:
    log.warning("database_away", detail=str(error))
    resp.set_header("Retry-After", "2")
    write_problem(req, resp, "PLATFORM_UNAVAILABLE", Sentence("Try again in a moment."))


def _on_vault_closed(req: Any, resp: Any, error: VaultClosed, params: Any) -> None:
    log.error("vault_closed", detail=str(error))
    write_problem(
        req, resp, "PLATFORM_UNAVAILABLE", Sentence("Own keys cannot be used at present.")
    )
