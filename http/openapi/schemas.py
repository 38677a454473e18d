"""JSON Schemas of pydantic models, as components of the document.

Invariant: what pydantic says is what stands there; only words are added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

Schema = dict[str, Any]
REF = "#/components/schemas/"


def schemas_of(
    models: Iterable[type[BaseModel]],
) -> tuple[dict[type[BaseModel], str], dict[str, Schema]]:
    """The component name of each model, and every schema that they need, by that name."""
    wanted = list(dict.fromkeys(models))
    refs, document = models_json_schema(
        [(model, "validation") for model in wanted],
        ref_template=f"{REF}{{model}}",
        schema_generator=_Plain,
    )
    names = {model: name_in(refs[model, "validation"]) for model in wanted}
    return names, document["$defs"]


def name_in(ref: Schema) -> str:
    """The component that a reference names."""
    name: str = ref["$ref"].removeprefix(REF)
    return name


class _Plain(GenerateJsonSchema):
    """In the order of the models, without titles made from the fields' names, and without saying
    that nothing means null.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(re.sub(r"^Page\[(\w+)\]$", r"\1Page", name))

    def sort(self, value: Schema, parent_key: str | None = None) -> Schema:
        return value
