"""What can go wrong with a job, in one table: code, whether a retry may help, what the user reads.

JobFault                      a stage ended with an error of the job
├── ProviderFault             the provider's wire (gateway)
├── AnswerFault               the model's answer (reading and validation)
└── SnapshotFault             the input cannot be built
Deferred                      not an error of the job: a circuit or a budget makes it wait
CallCut                       not an error of the job: cancel, lost lease, shutdown or deadline
ended a call
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aijobs.engine.sentence import Sentence
from aijobs.models.errors import NoRoom


class Effect(Enum):
    """What an error does beyond failing or retrying its job."""

    NONE = "none"
    CIRCUIT = "circuit"  # the platform's route is at fault: hand the job back, open the circuit
    CREDENTIAL = "credential"  # a user's key is at fault: tell the user


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """One row of the error table (contract: engine.md, Errors)."""

    code: str
    retryable: bool
    en: str
    zh: str
    effect: Effect = Effect.NONE

    def public_message(self, language: str = "en") -> str:
        """The sentence a user reads: no host, path, stack or provider text."""
        return self.zh if language.lower().startswith("zh") else self.en


_ROWS = (
    ErrorClass(
        "PROVIDER_TIMEOUT", True, "The AI service did not answer in time.", "AI 服务未及时响应。"
    ),
    ErrorClass(
        "PROVIDER_RATE_LIMITED", True, "The AI service is busy.", "AI 服务繁忙，请稍后再试。"
    ),
    ErrorClass(
        "PROVIDER_UNAVAILABLE", True, "The AI service is unavailable.", "AI 服务暂时不可用。"
    ),
    ErrorClass(
        "PROVIDER_BAD_REQUEST",
        False,
        "The AI service refused the request.",
        "AI 服务拒绝了该请求。",
    ),
    ErrorClass(
        "CREDENTIAL_INVALID",
        False,
        "The AI service refused the API key. Check the key in your settings.",
        "AI 服务拒绝了该密钥，请在设置中检查。",
        Effect.CIRCUIT,
    ),
    ErrorClass(
        "PROVIDER_ACCOUNT",
        False,
        "The AI account cannot be used at present. Check its balance and model.",
        "AI 账户目前无法使用，请检查余额和模型设置。",
        Effect.CIRCUIT,
    ),
    ErrorClass(
        "CONTENT_SAFETY_BLOCKED",
        False,
        "The content was blocked by a safety check.",
        "内容未通过安全检查。",
    ),
    ErrorClass(
        "OUTPUT_TRUNCATED",
        False,
        "The answer was too long. Ask for fewer items.",
        "生成的内容过长，请减少数量后重试。",
    ),
    ErrorClass("OUTPUT_EMPTY", False, "The AI gave no answer.", "AI 没有给出内容。"),
    ErrorClass(
        "OUTPUT_INVALID_JSON", False, "The AI's answer could not be read.", "无法读取 AI 的回答。"
    ),
    ErrorClass(
        "SCHEMA_VALIDATION_FAILED",
        False,
        "The AI's answer did not have the expected form.",
        "AI 的回答格式不符合要求。",
    ),
    ErrorClass(
        "BUSINESS_VALIDATION_FAILED",
        False,
        "The AI's answer did not make sense for this task.",
        "AI 的回答不符合任务规则。",
    ),
    ErrorClass(
        "REFERENCE_VALIDATION_FAILED",
        False,
        "The AI's answer refers to material that is not yours.",
        "AI 的回答引用了不存在的材料。",
    ),
    ErrorClass(
        "INVALID_SNAPSHOT",
        False,
        "The material of this job is gone or cannot be read.",
        "该任务的学习材料已不存在或无法读取。",
    ),
    ErrorClass(
        "CREDENTIAL_NOT_FOUND", False, "The API key of this job is gone.", "该任务的密钥已被删除。"
    ),
    ErrorClass(
        "DEPENDENCY_FAILED",
        False,
        "A job that this one waited for did not succeed.",
        "该任务依赖的任务未成功。",
    ),
    ErrorClass("DEAD_EVENT", False, "The job could not be dispatched.", "该任务无法派发。"),
    ErrorClass("JOB_TIMEOUT", True, "The job took too long.", "任务执行超时。"),
    ErrorClass(
        "LEASE_EXPIRED",
        True,
        "The job was interrupted too often.",
        "任务多次中断，已停止。",
    ),
    ErrorClass("JOB_CANCELLED", False, "The job was cancelled.", "任务已取消。"),
    ErrorClass(
        "INTERNAL_ERROR", True, "Something went wrong on our side.", "系统内部错误，请稍后再试。"
    ),
)

#: code -> row. The one place that says whether a retry may help.
ERRORS: dict[str, ErrorClass] = {row.code: row for row in _ROWS}

_INTERNAL_BYTES = 4096


class JobFault(Exception):
    """A stage ended with an error of the job.

    `detail` is for operators: cleaned of secrets by whoever raises it, cut to 4 KB here.
    `retry_after` is a lower bound in seconds that the other side asked for.
    """

    def __init__(self, code: str, detail: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.error = ERRORS[code]
        self.detail = _storable(detail)
        self.retry_after = retry_after
        self.is_final = False

    def final(self) -> JobFault:
        """The same fault, of which no retry is made any more."""
        self.is_final = True
        return self

    @property
    def code(self) -> str:
        return self.error.code


def _storable(text: str) -> str:
    """At most 4 KB, without what no database keeps: U+0000 and half of a surrogate pair."""
    kept = text.replace("\x00", "\ufffd").encode(errors="replace")
    return kept[:_INTERNAL_BYTES].decode(errors="ignore")


class Deferred(Exception):
    """The job must wait, through no fault of its own: `cause` is circuit or budget.

    With `no_room` the `seconds` come on top of the time until there may be room again; when it
    `is_hopeless`, a whole day would not have the room.
    """

    def __init__(
        self,
        cause: str,
        seconds: float,
        no_room: NoRoom | None = None,
        *,
        is_hopeless: bool = False,
    ) -> None:
        super().__init__(f"{cause}: {seconds:.0f} s")
        self.cause = cause
        self.seconds = seconds
        self.no_room = no_room
        self.is_hopeless = is_hopeless


class ProviderFault(JobFault):
    """The provider's wire failed: `http_status` is None when no status line arrived."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, detail, retry_after=retry_after)
        self.http_status = http_status


class AnswerFault(JobFault):
    """The model's answer cannot be used.

    `repairable`: a repair round may help. `problems` are the validator's sentences for that round.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        repairable: bool = True,
        problems: tuple[str, ...] = (),
    ) -> None:
        super().__init__(code, detail)
        self.repairable = repairable
        self.problems = problems or ((detail,) if detail else ())


class SnapshotFault(JobFault):
    """The input of a job cannot be built, and will not be buildable later."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__("INVALID_SNAPSHOT", sentence)
        self.sentence = sentence
