"""Quiz questions with one right option, from the points of a knowledge base."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field

from aijobs.engine.answer.marks import Exact
from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import Difficulty, Explanation, Output, PointParameters, Ref


class QuizParameters(PointParameters):
    question_count: Annotated[int, Field(ge=1, le=50)] = 5


class Question(Output):
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    options: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]], Field(min_length=2, max_length=6)
    ]
    answer_index: Annotated[int, Field(ge=0), Exact]
    explanation: Explanation = None
    difficulty: Difficulty = None
    ref: Ref = None


class Quiz(Output):
    questions: Annotated[list[Question], Field(min_length=1, max_length=50)]


def rules(quiz: Quiz, _params: AnswerParams) -> tuple[str, ...]:
    """The answer is one of the options; options differ after trimming and folding spaces."""
    return tuple(
        f"questions[{position}]: {problem}"
        for position, question in enumerate(quiz.questions)
        for problem in _problems(question)
    )


def _problems(question: Question) -> list[str]:
    problems = []
    folded = [_folded(option) for option in question.options]
    if len(set(folded)) < len(folded):
        problems.append("two options are the same")
    if question.answer_index >= len(folded):
        problems.append(
            f"answer_index must be 0 to {len(folded) - 1}, the position of the right option"
        )
    return problems


def _folded(option: str) -> str:
    return re.sub(r"\s+", " ", option).strip()


def mend(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Map an answer given as a letter, a number in quotes or an option's text, if only one fits."""
    mapped = 0
    questions = value.get("questions")
    for question in questions if isinstance(questions, list) else ():
        position = _meant(question) if isinstance(question, dict) else None
        if position is not None:
            question["answer_index"] = position
            mapped += 1
    return value, ("answer mapped to its option",) if mapped else ()


def _meant(question: dict[str, Any]) -> int | None:
    """The one option that a textual answer can mean; None when it is no text or not one option."""
    answer, options = question.get("answer_index"), question.get("options")
    if not isinstance(answer, str) or not isinstance(options, list):
        return None
    readings = {position for position in _readings(answer, options) if position < len(options)}
    return readings.pop() if len(readings) == 1 else None


def _readings(answer: str, options: list[Any]) -> list[int]:
    plain = answer.strip()
    wanted = _folded(plain).casefold()
    readings = [
        position
        for position, option in enumerate(options)
        if isinstance(option, str) and _folded(option).casefold() == wanted
    ]
    if re.fullmatch(r"[A-Fa-f]", plain):
        readings.append(ord(plain.upper()) - ord("A"))
    if re.fullmatch(r"[0-9]{1,2}", plain):
        readings.append(int(plain))
    return readings


DEFINITION = JobDefinition(
    job_type="quiz_generation",
    label="Quiz",
    description="Multiple-choice questions from the points of a knowledge base.",
    domain="generation",
    queue_name="ai-interactive",
    target_types=frozenset({"knowledge_base"}),
    parameters=QuizParameters,
    count_parameter="question_count",
    output_model=Quiz,
    items_field="questions",
    rules=rules,
    mend=mend,
    max_output_tokens=8_000,
    temperature=0.4,
    prompt_key="quiz_generation",
    projector="quiz_generation",
)
