"""A call with its key: the platform's, or a user's own, opened for the length of the call.

Invariant: a user's key is in the clear here and below, while the call runs, and no exception
carries a key out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import CallCut, Cut
from aijobs.engine.engine import Engine
from aijobs.engine.errors import JobFault, ProviderFault
from aijobs.engine.gateway.redact import redact
from aijobs.engine.key_hosts import BaseUrlRefused, host_of, hosts_of
from aijobs.models import credentials
from aijobs.models import database as db
from aijobs.models.credentials import KeyInUse, SealedKey
from aijobs.models.probes import sending
from aijobs.models.tables import AiJob, UserModelCredential


class CallCrashed(Exception):
    """A call ended in a bug; the text is cleaned of its key."""


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A user's key, sealed, and the route that it is for."""

    use: KeyInUse
    route: Route
    sealed: SealedKey


def own_key(engine: Engine, credential: UserModelCredential) -> OwnKey:
    """A credential as a call takes it.

    Raises JobFault when its host is not allowed any more, CannotOpen when it could not be opened.
    """
    hosts = hosts_of(engine.settings.credential_hosts)
    try:
        host = host_of(credential.base_url, hosts)
    except BaseUrlRefused as refused:
        raise JobFault("PROVIDER_ACCOUNT", f"the key's base URL {refused}") from None
    route = Route(
        provider=credential.provider,
        model=host.model or engine.settings.provider_model,
        base_url=credential.base_url,
        api_key="",
        extra_body=host.extra_body,
        public_only=True,
    )
    use = KeyInUse(credential.id, credential.user_id, credential.version)
    found = OwnKey(use, route, credentials.sealed_key(credential))
    _opened(engine, found)
    return found


def own_key_of(engine: Engine, attempt: Attempt) -> OwnKey | None:
    """The key of a job's user, as it is now; None for a job on the platform's key.

    Raises JobFault CREDENTIAL_NOT_FOUND or CREDENTIAL_INVALID, and what `own_key` raises. From
    then on `attempt.key_in_use` says which version a refusal is about.
    """
    job = attempt.job
    if job.credential_mode != "user_key":
        return None
    found = db.read(lambda: _credential_of(job), patient=attempt.may_insist)
    if found is None:
        raise JobFault("CREDENTIAL_NOT_FOUND", f"credential {job.credential_id} is gone")
    attempt.key_in_use = KeyInUse(found.id, found.user_id, found.version)
    if found.status == "invalid":
        raise JobFault("CREDENTIAL_INVALID", f"credential {found.id} was refused before")
    return own_key(engine, found)


def _credential_of(job: AiJob) -> UserModelCredential | None:
    return None if job.credential_id is None else credentials.get(job.credential_id, job.user_id)


def call_with_key(engine: Engine, door: Route | OwnKey, request: ChatRequest, cut: Cut) -> Reply:
    """One call. Raises ProviderFault, CallCut, and CallCrashed for a bug in the provider."""
    if isinstance(door, OwnKey):
        provider, route = engine.gateway, _opened(engine, door)
    else:
        provider, route = engine.provider, door
    try:
        with sending("provider_call"):
            return provider.complete(route, request, cut)
    except (CallCut, ProviderFault):
        raise
    except Exception as error:
        told = redact(f"{type(error).__name__}: {error}", route.api_key)
        crash = CallCrashed(told).with_traceback(error.__traceback__)
    raise crash  # out here, so that it does not carry the other one along


def _opened(engine: Engine, own: OwnKey) -> Route:
    key = engine.vault.open(own.sealed, user_id=own.use.user_id, credential_id=own.use.id)
    return replace(own.route, api_key=key)
