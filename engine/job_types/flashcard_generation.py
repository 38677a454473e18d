"""Flashcards with a front and a back, from the points of a knowledge base."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import Output, PointParameters, Ref


class FlashcardParameters(PointParameters):
    card_count: Annotated[int, Field(ge=1, le=200)] = 10


class Flashcard(Output):
    front: Annotated[str, Field(min_length=1, max_length=2000)]
    back: Annotated[str, Field(min_length=1, max_length=4000)]
    tags: list[Annotated[str, Field(min_length=1, max_length=60)]] | None = None
    ref: Ref = None


class Flashcards(Output):
    flashcards: Annotated[list[Flashcard], Field(min_length=1, max_length=200)]


DEFINITION = JobDefinition(
    job_type="flashcard_generation",
    label="Flashcards",
    description="Cards with a question and its answer from the points of a knowledge base.",
    domain="generation",
    queue_name="ai-interactive",
    target_types=frozenset({"knowledge_base"}),
    parameters=FlashcardParameters,
    count_parameter="card_count",
    output_model=Flashcards,
    items_field="flashcards",
    max_output_tokens=12_000,
    temperature=0.4,
    prompt_key="flashcard_generation",
    projector="flashcard_generation",
)
