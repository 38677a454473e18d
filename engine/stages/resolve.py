"""RESOLVE: snapshot, prompt, route. It has no checkpoint: cheap and repeatable."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from aijobs.engine.answer import AnswerParams, validate_output
from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import AnswerFault, SnapshotFault
from aijobs.engine.key_use import own_key_of
from aijobs.engine.prompting import render
from aijobs.engine.redaction import REDACTION_VERSION
from aijobs.engine.sentence import Sentence
from aijobs.engine.snapshot import (
    PointsNotFound,
    Refs,
    Snapshot,
    Source,
    build,
    has_answer,
    refs_of,
)
from aijobs.engine.stages.outcome import stage
from aijobs.models import database as db
from aijobs.models import results
from aijobs.models.lifecycle import checkpoint
from aijobs.models.results import Validated
from aijobs.models.tables import AiJobResult


@dataclass(frozen=True, slots=True)
class Resolved:
    """All that EXECUTE needs; `validated` is set when an earlier attempt has got that far."""

    definition: JobDefinition
    snapshot: Snapshot
    params: AnswerParams
    refs: Refs
    request: ChatRequest
    validated: Validated | None


@stage
def resolve(engine: Engine, attempt: Attempt) -> Resolved:
    """Find or rebuild the snapshot, render the prompt, find out how far earlier attempts got."""
    attempt.enter()
    if attempt.job.call_count == 0:  # what was answered under a key that is gone by now is used
        own_key_of(engine, attempt)
    definition = engine.registry.get(attempt.job.job_type)
    stored, result = db.read(
        lambda: (results.snapshot_of(attempt.job.id), results.validated_result(attempt.job.id)),
        patient=attempt.may_insist,
    )
    parameters = _parameters(attempt, definition)
    if stored is None or stored.is_expired:
        snapshot, result = _rebuild(engine, attempt, definition, parameters), None
    else:
        snapshot = Snapshot(stored.content, stored.content_hash)
    refs = refs_of(snapshot.content)
    named = frozenset(item["ref"] for item in snapshot.content["items"])  # a material's too
    params = AnswerParams(definition.requested_count(parameters), named)
    return Resolved(
        definition=definition,
        snapshot=snapshot,
        params=params,
        refs=refs,
        request=_request(definition, snapshot, nonce(attempt, snapshot, "prompt")),
        validated=None
        if result is None
        else _still_fits(engine, attempt, definition, params, result),
    )


def nonce(attempt: Attempt, snapshot: Snapshot, purpose: str) -> str:
    """The delimiter of one call's data. It follows from the job, so that a later attempt sends the
    same request and finds its answer in the journal; whoever wrote the data could not know it."""
    seed = f"{attempt.lease.job_id}:{snapshot.content_hash}:{purpose}"
    return hashlib.sha256(seed.encode()).hexdigest()[:16]


def _parameters(attempt: Attempt, definition: JobDefinition) -> BaseModel:
    """The request's parameters; what only the request held lies in a row of its own."""
    private: dict[str, Any] = {}
    if has_answer(definition):
        job_id = attempt.job.id
        private = db.read(lambda: results.input_of(job_id), patient=attempt.may_insist)
    return definition.parameters.model_validate({**attempt.job.params, **private})


def _request(definition: JobDefinition, snapshot: Snapshot, delimiter: str) -> ChatRequest:
    return ChatRequest(
        messages=render(definition, snapshot.content, delimiter),
        max_tokens=definition.max_output_tokens,
        temperature=definition.temperature,
        thinking=definition.thinking,
        schema_name=definition.job_type,
        snapshot=snapshot.content,
    )


def _rebuild(
    engine: Engine, attempt: Attempt, definition: JobDefinition, parameters: BaseModel
) -> Snapshot:
    """Build the snapshot again and drop EXECUTE's checkpoint: refs may have moved."""
    job = attempt.job
    source = Source(job.user_id, job.target_type, job.target_id)

    def rebuild() -> Snapshot:
        lease_seconds = engine.settings.lease_seconds
        checkpoint(attempt.lease, stage="RESOLVE", progress=20, lease_seconds=lease_seconds)
        budget = engine.settings.snapshot_bytes
        snapshot = build(definition, source, parameters, budget_bytes=budget)
        results.drop_validated(attempt.lease)
        results.save_snapshot(
            attempt.lease,
            snapshot.content,
            schema_version=definition.input_schema_version,
            redaction_version=REDACTION_VERSION,
            content_hash=snapshot.content_hash,
            hours=engine.settings.snapshot_hours,
        )
        return snapshot

    try:
        return db.transact("snapshot", rebuild, patient=attempt.may_insist)
    except PointsNotFound as missing:
        gone = Sentence("points are gone: {points}", points=tuple(missing.missing))
        raise SnapshotFault(gone) from missing


def _drop(engine: Engine, attempt: Attempt) -> None:
    """Forget the result of an earlier attempt, fenced: EXECUTE begins anew."""

    def work() -> None:
        lease_seconds = engine.settings.lease_seconds
        checkpoint(attempt.lease, stage="RESOLVE", progress=20, lease_seconds=lease_seconds)
        results.drop_validated(attempt.lease)

    db.transact("snapshot", work, patient=attempt.may_insist)


def _still_fits(
    engine: Engine,
    attempt: Attempt,
    definition: JobDefinition,
    params: AnswerParams,
    result: AiJobResult,
) -> Validated | None:
    """The result of an earlier attempt, unless a newer output schema no longer admits it."""
    if attempt.job.output_schema_version != definition.output_schema_version:
        try:
            validate_output(definition, result.output, params)
        except AnswerFault:
            _drop(engine, attempt)
            return None
    return Validated(
        output=result.output,
        output_hash=result.output_hash,
        snapshot_hash=result.snapshot_hash,
        requested_count=result.requested_count,
        delivered_count=result.delivered_count,
    )
