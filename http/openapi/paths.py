"""Operations as path items of the document."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel

from aijobs.http.openapi.example import example_of
from aijobs.http.openapi.operation import Answer, FileBody, Group, Operation, Parameter
from aijobs.http.openapi.parameters import PATH_IDS, UUID
from aijobs.http.openapi.refusals import headers, refusals
from aijobs.http.openapi.schemas import REF, Schema

_PATH_ID = re.compile(r"\{(\w+)\}")


class Paths:
    """Gathers path items; `names` says which component describes a model."""

    def __init__(self, names: dict[type[BaseModel], str], schemas: dict[str, Schema]) -> None:
        self._names = names
        self._schemas = schemas
        self.items: dict[str, dict[str, Any]] = {}

    def add(self, group: Group) -> None:
        """Add the operations of a group."""
        for operation in group.operations:
            methods = self.items.setdefault(operation.path, {})
            methods[operation.method.lower()] = self._operation(operation, group.name)

    def _operation(self, operation: Operation, tag: str) -> dict[str, Any]:
        item: dict[str, Any] = {
            "operationId": operation.id,
            "tags": [tag],
            "summary": operation.summary,
        }
        if operation.description:
            item["description"] = operation.description
        if not operation.needs_token:
            item["security"] = []
        if parameters := [*_path_ids(operation.path), *map(_parameter, operation.parameters)]:
            item["parameters"] = parameters
        if operation.body is not None:
            item["requestBody"] = self._body(operation.body)
        item["responses"] = self._responses(operation)
        return item

    def _body(self, body: type[BaseModel] | FileBody) -> dict[str, Any]:
        if isinstance(body, FileBody):
            content = {kind: _file(example) for kind, example in body.examples.items()}
            return {"required": True, "description": body.sentence, "content": content}
        return {"required": True, "content": {"application/json": self._media(body)}}

    def _media(self, model: type[BaseModel]) -> dict[str, Any]:
        schema = {"$ref": REF + self._names[model]}
        kinds = self._schemas[self._names[model]].get("discriminator")
        if kinds is None:
            return {"schema": schema, "example": example_of(schema, self._schemas, brief=True)}
        examples = {
            kind: {"value": example_of({"$ref": ref}, self._schemas, brief=True)}
            for kind, ref in kinds["mapping"].items()
        }
        return {"schema": schema, "examples": examples}

    def _responses(self, operation: Operation) -> dict[str, Any]:
        granted = {str(answer.status): self._answer(answer) for answer in operation.answers}
        return granted | refusals(operation)

    def _answer(self, answer: Answer) -> dict[str, Any]:
        item: dict[str, Any] = {"description": answer.sentence}
        if answer.headers:
            item["headers"] = headers(answer.headers)
        if answer.shape is not None:
            schema = {"$ref": REF + self._names[answer.shape]}
            example = answer.example or example_of(schema, self._schemas)
            item["content"] = {"application/json": {"schema": schema, "example": example}}
        elif answer.media_type is not None:
            item["content"] = {answer.media_type: {}}
        return item


def _path_ids(path: str) -> list[dict[str, Any]]:
    return [
        _parameter(Parameter(name, UUID, PATH_IDS[name], place="path", required=True))
        for name in _PATH_ID.findall(path)
    ]


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.sentence,
        "schema": dict(parameter.schema),
    }


def _file(example: str | None) -> dict[str, Any]:
    return {} if example is None else {"schema": {"type": "string"}, "example": example}
