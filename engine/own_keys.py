"""What users do with their own keys: add, change, test.

Invariant: no key is stored unsealed, and a key is stored only for a base URL that it may go to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog
from uuid_utils.compat import uuid7

from aijobs.engine.chat import ChatRequest, Message
from aijobs.engine.cut import CallCut, Cut
from aijobs.engine.engine import Engine
from aijobs.engine.errors import JobFault
from aijobs.engine.key_hosts import BaseUrlRefused, canonical, default_base_url, hosts_of
from aijobs.engine.key_use import call_with_key, own_key
from aijobs.engine.refusal import wrong_field
from aijobs.engine.sentence import Sentence
from aijobs.models import credentials
from aijobs.models import database as db
from aijobs.models.credentials import NewCredential
from aijobs.models.tables import UserModelCredential

_TEST_SECONDS = 20.0
_SHOWN = 4

_PROBE = ChatRequest(
    messages=(Message("user", 'Answer with this json document alone: {"ok": true}'),),
    max_tokens=16,
    temperature=0.0,
    thinking=False,
    schema_name="credential_test",
)


log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants a credential to be; None: as it is, or as usual for the provider."""

    label: str | None
    provider: str | None
    base_url: str | None
    api_key: str | None = field(repr=False)


def add(engine: Engine, user_id: UUID, wish: Wish) -> UserModelCredential:
    """Store a key. Raises Refused, and NoMasterKey when this process cannot seal."""
    provider = wish.provider or ""
    base_url = _base_url(engine, wish.base_url, provider)
    new = NewCredential(
        uuid7(), user_id, wish.label or provider, provider, base_url, sealed=None, last4=None
    )
    return credentials.add(_with_key(engine, new, wish.api_key))


def change(
    engine: Engine, user_id: UUID, credential_id: UUID, wish: Wish
) -> UserModelCredential | None:
    """The credential as it is then; None when the user has no such one. Raises like `add`."""
    now = db.read(lambda: credentials.get(credential_id, user_id))
    if now is None:
        return None
    provider = wish.provider or now.provider
    base_url = now.base_url
    if wish.base_url is not None or provider != now.provider:
        base_url = _base_url(engine, wish.base_url, provider)
    label = now.label if wish.label is None else wish.label
    new = NewCredential(credential_id, user_id, label, provider, base_url, None, None)
    if not credentials.change(_with_key(engine, new, wish.api_key)) and wish.api_key is None:
        raise wrong_field("apiKey", Sentence("must be given with another base URL"))
    return db.read(lambda: credentials.get(credential_id, user_id))


def try_out(engine: Engine, credential: UserModelCredential) -> str | None:
    """Make one small call with the key: None when the provider took it, else the error's code.

    What it says of the key is noted at the version that was tried. Raises CannotOpen.
    """
    try:
        own = own_key(engine, credential)
        call_with_key(engine, own, _PROBE, Cut(time.monotonic() + _TEST_SECONDS))
    except CallCut:
        return "PROVIDER_TIMEOUT"
    except JobFault as fault:
        log.info("key_not_taken", error_code=fault.code, detail=fault.detail)
        if fault.code == "CREDENTIAL_INVALID":
            credentials.mark_invalid(own.use)
        return fault.code
    credentials.verified(own.use)
    return None


def _base_url(engine: Engine, given: str | None, provider: str) -> str:
    hosts = hosts_of(engine.settings.credential_hosts)
    wanted = given if given is not None else default_base_url(provider, hosts)
    if wanted is None:
        raise wrong_field("baseUrl", Sentence("must be given for this provider"))
    try:
        return canonical(wanted, hosts)
    except BaseUrlRefused as refused:
        raise wrong_field("baseUrl", refused.sentence) from None


def _with_key(engine: Engine, new: NewCredential, key: str | None) -> NewCredential:
    if key is None:
        return new
    if any(key in text for text in (new.label, new.provider, new.base_url)):
        raise wrong_field("apiKey", Sentence("must be in no other field"))
    sealed = engine.vault.seal(key, user_id=new.user_id, credential_id=new.id)
    return replace(new, sealed=sealed, last4=key[-_SHOWN:])
