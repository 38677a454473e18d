"""/model-credentials: the user's own keys. A key goes in; its last 4 come out."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

import falcon
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints
from pydantic.alias_generators import to_camel

from aijobs.engine import own_keys
from aijobs.engine.engine import Engine
from aijobs.engine.own_keys import Wish
from aijobs.engine.refusal import Refused, Unfit
from aijobs.engine.sentence import Sentence
from aijobs.http.body import read_model
from aijobs.http.middleware import identity_of
from aijobs.http.moments import moment
from aijobs.http.paging import window_of
from aijobs.http.views import present
from aijobs.models import credentials
from aijobs.models import database as db
from aijobs.models.tables import UserModelCredential

_KEY_CHARACTERS = range(8, 513)


def _is_key(given: SecretStr) -> SecretStr:
    key = given.get_secret_value()
    if len(key) not in _KEY_CHARACTERS or not all("!" <= sign <= "~" for sign in key):
        shortest, longest = _KEY_CHARACTERS[0], _KEY_CHARACTERS[-1]
        raise Unfit(
            Sentence(
                "must be {shortest} to {longest} visible ASCII characters",
                shortest=shortest,
                longest=longest,
            )
        )
    return given


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Provider = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][\w .-]*$")]
BaseUrl = Annotated[str, Field(min_length=1, max_length=500)]
Key = Annotated[SecretStr, AfterValidator(_is_key)]


class ChangedCredential(BaseModel):
    """What becomes of a credential; what is left out stays as it is."""

    model_config = ConfigDict(
        strict=True, extra="forbid", alias_generator=to_camel, hide_input_in_errors=True
    )

    label: Name | None = None
    provider: Provider | None = None
    base_url: BaseUrl | None = None
    api_key: Key | None = None

    def as_wish(self) -> Wish:
        """As the engine takes it."""
        key = None if self.api_key is None else self.api_key.get_secret_value()
        return Wish(self.label, self.provider, self.base_url, key)


class NewCredential(ChangedCredential):
    """A key to add. `baseUrl` may be left out for a provider that is known by name."""

    provider: Provider
    api_key: Key


class ModelCredentials:
    """/model-credentials."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._room = threading.BoundedSemaphore(max(1, engine.settings.api_threads // 4))

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        window = window_of(req)
        user_id = identity_of(req).user_id
        found = db.read(
            lambda: credentials.page(user_id, after=window.after, limit=window.limit + 1)
        )
        resp.media = window.page(found, _view)

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        wish = read_model(req, NewCredential).as_wish()
        made = own_keys.add(self._engine, identity_of(req).user_id, wish)
        resp.status = falcon.HTTP_201
        resp.location = f"{req.path.rstrip('/')}/{made.id}"
        resp.media = _view(made)

    def on_get_one(self, req: falcon.Request, resp: falcon.Response, credential_id: UUID) -> None:
        resp.media = _view(_own(req, credential_id))

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, credential_id: UUID) -> None:
        wish = read_model(req, ChangedCredential).as_wish()
        changed = own_keys.change(self._engine, identity_of(req).user_id, credential_id, wish)
        if changed is None:
            raise _no_credential()
        resp.media = _view(changed)

    def on_delete_one(
        self, req: falcon.Request, resp: falcon.Response, credential_id: UUID
    ) -> None:
        if not credentials.delete(credential_id, identity_of(req).user_id):
            raise _no_credential()
        resp.status = falcon.HTTP_204

    def on_post_test(self, req: falcon.Request, resp: falcon.Response, credential_id: UUID) -> None:
        """One real call, of which a process makes only so many at once: each holds a thread."""
        credential = _own(req, credential_id)
        if not self._room.acquire(blocking=False):
            resp.set_header("Retry-After", "2")
            detail = Sentence("Too many keys are being tested: try again in a moment.")
            raise Refused("RATE_LIMITED", detail)
        try:
            code = own_keys.try_out(self._engine, credential)
        finally:
            self._room.release()
        resp.media = present({"ok": code is None, "code": code})


def add_routes(app: Any, prefixes: Iterable[str], engine: Engine) -> None:
    """The list, one of it, and its test; one resource, since it counts who tests."""
    resource = ModelCredentials(engine)
    for prefix in prefixes:
        one = f"{prefix}/model-credentials/{{credential_id:uuid}}"
        app.add_route(f"{prefix}/model-credentials", resource)
        app.add_route(one, resource, suffix="one")
        app.add_route(f"{one}/test", resource, suffix="test")


def _own(req: falcon.Request, credential_id: UUID) -> UserModelCredential:
    user_id = identity_of(req).user_id
    found = db.read(lambda: credentials.get(credential_id, user_id))
    if found is None:
        raise _no_credential()
    return found


def _no_credential() -> Refused:
    return Refused("CREDENTIAL_NOT_FOUND", Sentence("No credential of yours has this id."))


def _view(credential: UserModelCredential) -> dict[str, Any]:
    return present(
        {
            "id": str(credential.id),
            "label": credential.label,
            "provider": credential.provider,
            "baseUrl": credential.base_url,
            "last4": credential.last4,
            "status": credential.status,
            "version": credential.version,
            "lastVerifiedAt": moment(credential.last_verified_at),
            "createdAt": moment(credential.created_at),
        }
    )
