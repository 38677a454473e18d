"""The error table: every code of the contract, once, with what a user may read."""

from __future__ import annotations

import re

import pytest

from aijobs.engine.errors import (
    ERRORS,
    AnswerFault,
    Effect,
    JobFault,
    ProviderFault,
    SnapshotFault,
)
from aijobs.engine.sentence import Sentence

#: Code -> whether the job is tried again (contract: engine.md, Errors).
RETRYABLE = {
    "PROVIDER_TIMEOUT": True,
    "PROVIDER_RATE_LIMITED": True,
    "PROVIDER_UNAVAILABLE": True,
    "PROVIDER_BAD_REQUEST": False,
    "CREDENTIAL_INVALID": False,
    "PROVIDER_ACCOUNT": False,
    "CONTENT_SAFETY_BLOCKED": False,
    "OUTPUT_TRUNCATED": False,
    "OUTPUT_EMPTY": False,
    "OUTPUT_INVALID_JSON": False,
    "SCHEMA_VALIDATION_FAILED": False,
    "BUSINESS_VALIDATION_FAILED": False,
    "REFERENCE_VALIDATION_FAILED": False,
    "INVALID_SNAPSHOT": False,
    "CREDENTIAL_NOT_FOUND": False,
    "DEPENDENCY_FAILED": False,
    "DEAD_EVENT": False,
    "JOB_TIMEOUT": True,
    "LEASE_EXPIRED": True,
    "JOB_CANCELLED": False,
    "INTERNAL_ERROR": True,
}


def test_the_table_is_the_contracts() -> None:
    assert {code: row.retryable for code, row in ERRORS.items() if code in RETRYABLE} == RETRYABLE


def test_only_the_platforms_account_opens_a_circuit() -> None:
    of_the_circuit = {code for code, row in ERRORS.items() if row.effect is Effect.CIRCUIT}
    assert of_the_circuit == {"CREDENTIAL_INVALID", "PROVIDER_ACCOUNT"}


@pytest.mark.parametrize("code", ERRORS)
def test_a_sentence_for_users_tells_nothing_of_the_inside(code: str) -> None:
    english, chinese = ERRORS[code].en, ERRORS[code].zh
    assert english.endswith(".") and chinese.endswith("。")
    assert re.search("[一-鿿]", chinese)
    assert not re.search(r"[一-鿿/\\:{}<>]|https?|[A-Z]{2,}_", english)


@pytest.mark.parametrize(
    ("language", "is_chinese"),
    [("en", False), ("zh", True), ("zh-CN", True), ("ZH-hant", True), ("de", False), ("", False)],
)
def test_chinese_is_spoken_to_those_who_ask_for_it(language: str, is_chinese: bool) -> None:
    row = ERRORS["JOB_TIMEOUT"]
    assert row.public_message(language) == (row.zh if is_chinese else row.en)


def test_a_fault_carries_what_its_edge_needs() -> None:
    fault = ProviderFault("PROVIDER_RATE_LIMITED", "busy", http_status=429, retry_after=3.0)
    assert (fault.code, fault.detail, fault.http_status, fault.retry_after) == (
        "PROVIDER_RATE_LIMITED",
        "busy",
        429,
        3.0,
    )
    assert str(fault) == "PROVIDER_RATE_LIMITED: busy"
    assert str(JobFault("JOB_TIMEOUT")) == "JOB_TIMEOUT"
    assert SnapshotFault(Sentence("gone")).code == "INVALID_SNAPSHOT"
    with pytest.raises(KeyError):
        JobFault("UNHEARD_OF")


def test_the_problems_of_an_answer_default_to_its_detail() -> None:
    assert AnswerFault("OUTPUT_EMPTY", "It was empty.").problems == ("It was empty.",)
    assert AnswerFault("OUTPUT_EMPTY").problems == ()
    assert AnswerFault("OUTPUT_EMPTY", "x", problems=("a", "b")).problems == ("a", "b")


@pytest.mark.parametrize("text", ["x" * 10_000, "字" * 5000, "x" * 4095 + "字"])
def test_a_detail_is_cut_at_four_kilobytes_and_at_a_whole_character(text: str) -> None:
    detail = JobFault("INTERNAL_ERROR", text).detail
    assert 4090 <= len(detail.encode()) <= 4096
    assert text.startswith(detail)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "\udfff"])
def test_a_detail_can_be_stored_whatever_it_is_made_of(text: str) -> None:
    detail = JobFault("INTERNAL_ERROR", text).detail
    assert "\x00" not in detail
    detail.encode()
