"""The eleven steps of POST /jobs (contract: api.md), as a list of named steps over one draft.

Invariant: a refusal after the look-up of the idempotency key reads the key once more before it
answers, so that of equal requests at once one creates and every other one finds its job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError
from uuid_utils.compat import uuid7

from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import SnapshotFault
from aijobs.engine.limits import call_bound, platform_budget, prompt_bound, user_limits
from aijobs.engine.prompting import render
from aijobs.engine.redaction import REDACTION_VERSION
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.registry import UnknownJobType
from aijobs.engine.request import JobRequest, body_hash, parse
from aijobs.engine.sentence import Sentence
from aijobs.engine.snapshot import ANSWER_PARAMETER, PointsNotFound, Snapshot, Source, build
from aijobs.engine.validation import invalid
from aijobs.models import circuit, credentials, jobs, learner, ledger, users
from aijobs.models import database as db
from aijobs.models.errors import NoRoom
from aijobs.models.ledger import Bound, Gate
from aijobs.models.lifecycle import NewJob, create, find_by_key
from aijobs.models.tables import AiJob, UserModelCredential
from aijobs.models.transitions import TERMINAL

_PRIVATE = frozenset({ANSWER_PARAMETER})  # kept in ai_job_input, not in params


@dataclass(slots=True)
class Draft:
    """What the steps gather about one request of an authenticated user."""

    engine: Engine
    user_id: UUID
    body: dict[str, Any]
    header_key: str | None
    request: JobRequest | None = None
    definition: JobDefinition | None = None
    parameters: BaseModel | None = None
    snapshot: Snapshot | None = None
    credential: UserModelCredential | None = None
    waits_for_others: bool = False
    existing: AiJob | None = None
    created: AiJob | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job of a request, and whether this very request created it."""

    job: AiJob
    created: bool


def submit(engine: Engine, user_id: UUID, body: Any, header_key: str | None) -> Submitted:
    """Run the steps for a user whom step 1 (http) has authenticated.

    Raises Refused with a code of the contract; then nothing was stored.
    """
    draft = Draft(engine, user_id, body, header_key)
    try:
        for _, step in STEPS:
            step(draft)
            if draft.existing is not None:
                return Submitted(draft.existing, created=False)
    except Refused:
        if draft.request is None or not _finds_job_of_key(draft):
            raise
    if draft.created is not None:
        return Submitted(draft.created, created=True)
    assert draft.existing is not None
    return Submitted(draft.existing, created=False)


def validate_body(draft: Draft) -> None:
    """2: the fields that every job has."""
    draft.request = parse(draft.body, draft.header_key)


def look_up_key(draft: Draft) -> None:
    """3: the same key was used before: the same job, or a conflict."""
    _finds_job_of_key(draft)


def know_job_type(draft: Draft) -> None:
    """4: the type is registered, and its own parameters are valid."""
    request = _request(draft)
    try:
        definition = draft.engine.registry.get(request.job_type)
    except UnknownJobType:
        known = tuple(name for name, _ in draft.engine.registry.known())
        fault = FieldFault("jobType", Sentence("must be one of {choices}", choices=known))
        detail = Sentence("This job type is not known.")
        raise Refused("INVALID_JOB_TYPE", detail, errors=(fault,)) from None
    try:
        draft.parameters = definition.parameters.model_validate(request.parameters)
    except ValidationError as error:
        raise invalid(error) from None
    draft.definition = definition


def own_target(draft: Draft) -> None:
    """5: the target type is allowed, the target and the parents are the user's; the snapshot."""
    request, definition = _request(draft), _definition(draft)
    if request.target_type not in definition.target_types:
        allowed = tuple(sorted(definition.target_types))
        fault = FieldFault("targetType", Sentence("must be {choices}", choices=allowed))
        raise Refused("INVALID_TARGET_TYPE", Sentence("Not for this job type."), errors=(fault,))
    if not db.read(lambda: learner.owns(request.target_type, request.target_id, draft.user_id)):
        detail = Sentence("No {target_type} of yours has this id.", target_type=request.target_type)
        raise Refused("TARGET_NOT_FOUND", detail)
    _check_parents(draft)
    if not request.after:
        draft.snapshot = _snapshot(draft)


def ai_enabled(draft: Draft) -> None:
    """6: the user has not switched AI off. It is decided under the user's lock, by `create_job`;
    asked here as well where step 7 may refuse before that."""
    if _mode(draft) == "platform_key" and "platform_key" in _definition(draft).credential_modes:
        return
    if not db.read(lambda: users.is_ai_enabled(draft.user_id)):
        raise _ai_is_off()


def choose_credential(draft: Draft) -> None:
    """7: the platform's key, or one of the user's own."""
    mode, definition = _mode(draft), _definition(draft)
    if mode not in definition.credential_modes:
        fault = FieldFault("apiKeyMode", Sentence("is not allowed for this job type"))
        detail = Sentence("This key mode cannot be used.")
        raise Refused("INVALID_REQUEST", detail, errors=(fault,))
    if mode == "user_key":
        draft.credential = _own_credential(draft)


def create_job(draft: Draft) -> None:
    """8 to 11: one transaction under the lock of the user's settings, so that of parallel requests
    each sees what the others have taken: limits, circuit, reservation, job and its documents."""
    new, bound = _new_job(draft), _bound(draft)
    tries = 0

    def work() -> AiJob | None:
        nonlocal tries
        tries += 1
        if tries > 1 and (stored := jobs.get(new.id)):  # by a commit whose answer was lost
            return stored
        gate = ledger.pass_gate(draft.user_id, user_limits(draft.engine.settings))
        under_active_limit(draft, gate)
        paused = _circuit_refusal(draft, gate)
        return within_limits(draft, new, bound, paused)

    try:
        draft.created = db.transact("create", work)
    except Refused as refused:
        if refused.code == "QUOTA_EXCEEDED":
            refused.retry_after = db.read(lambda: users.seconds_to_next_month(draft.user_id))
        raise
    if draft.created is None and not _finds_job_of_key(draft):
        detail = Sentence("The job could not be stored. Send it again.")
        raise Refused("PLATFORM_UNAVAILABLE", detail)


def under_active_limit(draft: Draft, gate: Gate) -> None:
    """8: not too many jobs under way. One that waits for others is not under way yet."""
    if not gate.ai_enabled:
        raise _ai_is_off()
    if gate.is_full and not draft.waits_for_others:
        detail = Sentence(
            "{limit} jobs may be under way at once: wait for one to end.",
            limit=gate.max_active_jobs,
        )
        raise Refused("TOO_MANY_JOBS", detail, retry_after=_AN_END_SECONDS)


def within_limits(draft: Draft, new: NewJob, bound: Bound, paused: str | None) -> AiJob | None:
    """9 to 11: the job, unless the user's limits, the platform's circuit (`paused`: its refusal) or
    its budgets are against it, in this order. What has been inserted goes with the refusal."""
    budget = platform_budget(draft.engine.settings)
    made = None
    try:
        made = create(new, actor=f"user:{draft.user_id}", reserving=(bound, budget))
        is_refused = made is not None and paused is not None
    except NoRoom as full:
        is_refused = paused is not None and full.code.startswith("PLATFORM_")
        if not is_refused:
            raise Refused(full.code, _NO_ROOM[full.code]) from None
    if is_refused and paused is not None:
        detail = Sentence("The AI service is out of order at present. Try again later.")
        seconds = draft.engine.settings.circuit_open_seconds
        raise Refused(paused, detail, retry_after=seconds)
    return made


#: The contract's numbers and names. Step 1 is http's; 8 to 10 are decided inside 11's transaction.
STEPS: tuple[tuple[int, Callable[[Draft], None]], ...] = (
    (2, validate_body),
    (3, look_up_key),
    (4, know_job_type),
    (5, own_target),
    (6, ai_enabled),
    (7, choose_credential),
    (11, create_job),
)


#: When to ask again whether a job under way has ended: nobody knows, and asking costs little.
_AN_END_SECONDS = 5.0
_NO_ROOM = {
    "DAILY_JOB_LIMIT_EXCEEDED": Sentence("Your jobs of today are used up."),
    "DAILY_TOKEN_BUDGET_EXCEEDED": Sentence("Your tokens of today do not suffice for this job."),
    "QUOTA_EXCEEDED": Sentence("Your tokens of this month do not suffice for this job."),
    "PLATFORM_TOKEN_BUDGET_EXCEEDED": Sentence("The platform's tokens of today are used up."),
    "PLATFORM_COST_BUDGET_EXCEEDED": Sentence("The platform's budget of today is used up."),
}


def _ai_is_off() -> Refused:
    return Refused("AI_ANALYSIS_DISABLED", Sentence("AI is switched off in your settings."))


def _circuit_refusal(draft: Draft, gate: Gate) -> str | None:
    if _mode(draft) != "platform_key":
        return None
    definition = _definition(draft)
    if not draft.engine.has_route(definition.tier):
        return "PLATFORM_UNAVAILABLE"
    if not gate.circuit_trouble:
        return None
    return circuit.admission(draft.engine.circuit_routes(), definition.job_type)


def _finds_job_of_key(draft: Draft) -> bool:
    request = _request(draft)
    key = request.idempotency_key
    if key is None:
        return False
    found = db.read(lambda: find_by_key(draft.user_id, request.job_type, key))
    if found is not None and found.request_hash != body_hash(draft.body):
        detail = Sentence("This key was used with another body.")
        raise Refused("IDEMPOTENCY_KEY_REUSED", detail)
    draft.existing = found
    return found is not None


def _check_parents(draft: Draft) -> None:
    wanted = _request(draft).after
    found = {job.id: job for job in db.read(lambda: jobs.of_user_all(wanted, draft.user_id))}
    for place, parent_id in enumerate(wanted):
        parent = found.get(parent_id)
        if parent is None:
            detail = Sentence("after.{place}: no job of yours has this id.", place=place)
            raise Refused("JOB_NOT_FOUND", detail)
        if parent.lifecycle_status in TERMINAL - {"succeeded"}:
            detail = Sentence("after.{place}: this job did not succeed.", place=place)
            raise Refused("DEPENDENCY_FAILED", detail)
        draft.waits_for_others |= parent.lifecycle_status not in TERMINAL


def _mode(draft: Draft) -> str:
    """Whose key: as asked for; a credential without a mode asks for itself."""
    request = _request(draft)
    if request.api_key_mode is None and request.credential_id is not None:
        return "user_key"
    return request.api_key_mode or _definition(draft).default_credential_mode


def _own_credential(draft: Draft) -> UserModelCredential:
    """The credential that was named, or the only one of the user's that can be used."""
    wanted = _request(draft).credential_id
    if wanted is not None:
        found = db.read(lambda: credentials.get(wanted, draft.user_id))
        if found is None:
            detail = Sentence("No credential of yours has this id.")
            raise Refused("CREDENTIAL_NOT_FOUND", detail)
        if found.status == "invalid":
            message = Sentence("was refused by its provider: change or test it")
            raise _needs_credential(Sentence("This key cannot be used."), message)
        return found
    usable = db.read(lambda: credentials.active(draft.user_id, 2))
    if not usable:
        detail = Sentence("Add a model credential of your own first.")
        raise Refused("CREDENTIAL_REQUIRED", detail)
    if len(usable) > 1:
        message = Sentence("must name one of your credentials")
        raise _needs_credential(Sentence("You have several credentials."), message)
    return usable[0]


def _needs_credential(detail: Sentence, message: Sentence) -> Refused:
    fault = FieldFault("credentialId", message)
    return Refused("CREDENTIAL_REQUIRED", detail, errors=(fault,))


def _snapshot(draft: Draft) -> Snapshot:
    request, definition, parameters = _request(draft), _definition(draft), draft.parameters
    assert parameters is not None
    source = Source(draft.user_id, request.target_type, request.target_id)
    budget = draft.engine.settings.snapshot_bytes
    try:
        return db.read(lambda: build(definition, source, parameters, budget_bytes=budget))
    except PointsNotFound as missing:
        points = tuple(missing.missing)
        fault = FieldFault("pointIds", Sentence("not in this target: {points}", points=points))
        detail = Sentence("Some points are not there.")
        raise Refused("TARGET_NOT_FOUND", detail, errors=(fault,)) from None
    except SnapshotFault as fault_of_target:
        field = FieldFault("targetId", fault_of_target.sentence)
        detail = Sentence("Nothing to work on.")
        raise Refused("INVALID_REQUEST", detail, errors=(field,)) from None


def _new_job(draft: Draft) -> NewJob:
    request, definition = _request(draft), _definition(draft)
    parameters, snapshot, credential = draft.parameters, draft.snapshot, draft.credential
    assert parameters is not None
    wire = parameters.model_dump(mode="json", by_alias=True, exclude_none=True)
    private = {name: value for name, value in wire.items() if name in _PRIVATE}
    return NewJob(
        id=uuid7(),
        user_id=draft.user_id,
        job_type=definition.job_type,
        definition_version=definition.version,
        target_type=request.target_type,
        target_id=request.target_id,
        params={name: value for name, value in wire.items() if name not in _PRIVATE},
        lane=definition.lane,
        queue_name=definition.queue_name,
        priority=max(request.priority or 0, definition.default_priority),
        request_hash=body_hash(draft.body),
        credential_mode=_mode(draft),
        credential_id=None if credential is None else credential.id,
        credential_version=None if credential is None else credential.version,
        prompt_version=definition.prompt_version,
        input_schema_version=definition.input_schema_version,
        output_schema_version=definition.output_schema_version,
        max_retry_count=definition.max_retries,
        timeout_seconds=definition.timeout_seconds,
        snapshot_hours=draft.engine.settings.snapshot_hours,
        redaction_version=REDACTION_VERSION,
        snapshot=None if snapshot is None else snapshot.content,
        snapshot_hash=None if snapshot is None else snapshot.content_hash,
        input=private or None,
        idempotency_key=request.idempotency_key,
        after=tuple(dict.fromkeys(request.after)),
    )


def _bound(draft: Draft) -> Bound:
    """The bound of one call: prompt bytes + max output; without a snapshot its size budget."""
    definition = _definition(draft)
    prompt = draft.engine.settings.snapshot_bytes
    if draft.snapshot is not None:
        prompt = prompt_bound(render(definition, draft.snapshot.content, "0" * 16))
    own = draft.credential is not None
    routes = () if own else draft.engine.routes(definition.tier)
    return call_bound(routes, prompt, definition.max_output_tokens)


def _request(draft: Draft) -> JobRequest:
    assert draft.request is not None
    return draft.request


def _definition(draft: Draft) -> JobDefinition:
    assert draft.definition is not None
    return draft.definition
