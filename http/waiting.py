"""Why a job waits, in a sentence for its user: one table, in both languages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from aijobs.http.moments import moment
from aijobs.models.jobs import Waiting

#: (English, Chinese)
_SENTENCES = {
    "dependencies": (
        "{parents} job(s) before it have not succeeded yet",
        "等待 {parents} 个前置任务成功",
    ),
    "queue_paused": ("queue {queue} is paused", "队列 {queue} 已暂停"),
    "due_time": ("due at {due}", "将于 {due} 开始"),
    "budget": ("a budget is used up; due at {due}", "额度已用完，将于 {due} 重试"),
    "circuit_open": (
        "the AI service is out of order; the job goes on when it works again",
        "AI 服务暂停中，恢复后任务将继续",
    ),
    "queue": ("waits for a free worker of queue {queue}", "等待队列 {queue} 的空闲工作进程"),
    "unknown": ("no worker knows this version of the job type", "没有工作进程支持该任务类型的版本"),
    "lost": ("an attempt was lost; the next is being decided", "一次执行已中断，正在安排下一次"),
}


def waiting_view(waiting: Waiting, language: str) -> dict[str, Any]:
    """`{reason, since, detail}`."""
    sentence = _SENTENCES[_sentence_of(waiting)][language == "zh"]
    detail = sentence.format(
        parents=waiting.open_parents, queue=waiting.queue_name, due=_second(waiting.due_at)
    )
    return {"reason": waiting.reason, "since": moment(waiting.since), "detail": detail}


def _sentence_of(waiting: Waiting) -> str:
    if waiting.reason == "due_time" and waiting.due_at is None:
        return "lost"
    if waiting.reason == "queue" and not waiting.is_claimable:
        return "unknown"
    return waiting.reason


def _second(due_at: dt.datetime | None) -> str | None:
    return None if due_at is None else moment(due_at.replace(microsecond=0))
