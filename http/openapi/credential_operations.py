"""The operations on a user's own keys, and their answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aijobs.http.model_credentials import ChangedCredential, NewCredential
from aijobs.http.openapi.operation import API, Answer, Group, Operation
from aijobs.http.openapi.parameters import PAGING
from aijobs.http.openapi.shape import Absent, Id, Moment, Page, Shape, shown, told

_CREDENTIALS = f"{API}/model-credentials"
_CREDENTIAL = f"{_CREDENTIALS}/{{credentialId}}"


class ModelCredential(Shape):
    """A key of your own. It is never shown again."""

    id: Id
    label: Annotated[str, shown("My key")]
    provider: Annotated[str, shown("deepseek")]
    base_url: Annotated[str, told("Where the key is sent.", "https://api.deepseek.com")]
    last4: Annotated[str, told("The last characters of the key.", "9f3c")]
    status: Annotated[
        Literal["active", "invalid"], told("`invalid`: the provider has refused the key.")
    ]
    version: Annotated[int, told("Grows with every change of the key.", 1), Field(ge=1)]
    last_verified_at: Annotated[
        Absent[Moment], told("When the provider last took it, if it was tested.")
    ] = None
    created_at: Moment


class CredentialTest(Shape):
    """What the provider said to one small call."""

    ok: Annotated[bool, told("Whether it took the key.", True)]
    code: Annotated[Absent[str], told("Why not: one of the codes of failed jobs.")] = None


CREDENTIALS = Group(
    "Model credentials",
    "Keys of your own, for jobs with `apiKeyMode` `user_key`.",
    (
        Operation(
            "addCredential",
            "POST",
            _CREDENTIALS,
            "Add a key",
            body=NewCredential,
            answers=(Answer(201, "It was added.", ModelCredential, ("Location",)),),
        ),
        Operation(
            "listCredentials",
            "GET",
            _CREDENTIALS,
            "List your keys",
            parameters=PAGING,
            answers=(Answer(200, "A page of keys.", Page[ModelCredential]),),
        ),
        Operation(
            "getCredential",
            "GET",
            _CREDENTIAL,
            "Read what is known of a key",
            answers=(Answer(200, "The credential.", ModelCredential),),
            problems=("CREDENTIAL_NOT_FOUND",),
        ),
        Operation(
            "changeCredential",
            "PUT",
            _CREDENTIAL,
            "Change a key",
            description="What is left out stays as it is. Another base URL needs the key again.",
            body=ChangedCredential,
            answers=(Answer(200, "The credential as it is now.", ModelCredential),),
            problems=("CREDENTIAL_NOT_FOUND",),
        ),
        Operation(
            "deleteCredential",
            "DELETE",
            _CREDENTIAL,
            "Delete a key",
            answers=(Answer(204, "It is gone."),),
            problems=("CREDENTIAL_NOT_FOUND",),
        ),
        Operation(
            "testCredential",
            "POST",
            f"{_CREDENTIAL}/test",
            "Test a key with one small call",
            answers=(Answer(200, "What the provider said.", CredentialTest),),
            problems=("CREDENTIAL_NOT_FOUND",),
        ),
    ),
)
