"""The lists of what jobs left behind."""

from __future__ import annotations

from pydantic import BaseModel

from aijobs.http.openapi.operation import API, Answer, Group, Operation
from aijobs.http.openapi.parameters import (
    ABOUT_KNOWLEDGE_BASE,
    OF_KNOWLEDGE_BASE,
    PAGING,
    TARGET,
)
from aijobs.http.openapi.result_shapes import (
    Analysis,
    Flashcard,
    QuizQuestion,
    RecallEvaluation,
    Recommendation,
    WeakPoint,
)
from aijobs.http.openapi.shape import Page


def _published(operation_id: str, path: str, name: str, page: type[BaseModel]) -> Operation:
    return Operation(
        operation_id,
        "GET",
        f"{API}/{path}",
        f"List the {name} of a knowledge base",
        parameters=(OF_KNOWLEDGE_BASE, *PAGING),
        answers=(Answer(200, f"A page of {name}.", page),),
        problems=("NOT_FOUND",),
    )


def _findings(operation_id: str, path: str, page: type[BaseModel]) -> Operation:
    name = path.replace("-", " ")
    return Operation(
        operation_id,
        "GET",
        f"{API}/{path}",
        f"List your {name}",
        parameters=(TARGET, ABOUT_KNOWLEDGE_BASE, *PAGING),
        answers=(Answer(200, f"A page of {name}.", page),),
        problems=("NOT_FOUND",),
    )


RESULTS = Group(
    "Results",
    "What finished jobs have left behind.",
    (
        _published("listQuizQuestions", "quizzes", "quiz questions", Page[QuizQuestion]),
        _published("listFlashcards", "flashcards", "flashcards", Page[Flashcard]),
        _findings("listAnalyses", "analyses", Page[Analysis]),
        _findings("listWeakPoints", "weak-points", Page[WeakPoint]),
        _findings("listRecommendations", "recommendations", Page[Recommendation]),
        _findings("listRecallEvaluations", "recall-evaluations", Page[RecallEvaluation]),
    ),
)
