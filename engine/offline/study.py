"""Analyses by plain arithmetic on the study statistics: mastery is the mean score, nothing else.

Invariant: every number in an output can be worked out by hand from the statistics of the snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aijobs.engine.offline.material import Item, Material, Studied
from aijobs.engine.offline.study_wording import StudyWording, study_wording

#: Scored attempts per item at which the numbers are taken at their full word.
ENOUGH_ATTEMPTS = 5
#: Accuracy below which a point is weak, and what makes it badly so.
WEAK, MEDIUM, HIGH = 0.8, 0.7, 0.5
_MOST_WEAK_POINTS = 10
_MOST_ACTIONS = 5
_MOST_MASTERIES = 100
_QUESTIONS_PER_SESSION = 10
_MINUTES = (5, 30)

Check = Callable[[], None]


def learning_state(material: Material, room: int, check: Check) -> dict[str, Any]:
    """Mastery of each tested item: its mean score. Confidence: attempts per item against enough."""
    tested = _tested(material)
    wording = study_wording(material)
    if not tested:
        first = material.items[0]
        mastery = [{"topic": first.title, "score": 0.0, "ref": first.ref}]
        return {"summary": wording.untested(material), "mastery": mastery, "confidence": 0.0}
    shown = tested[:_MOST_MASTERIES]
    return {
        "summary": _summary(material, tested, wording),
        "mastery": [
            {"topic": item.title, "score": round(_accuracy(study), 2), "ref": item.ref}
            for item, study in shown
        ],
        "confidence": _confidence(tested),
    }


def weak_points(material: Material, room: int, check: Check) -> dict[str, Any]:
    """Tested items under the line, the worst first; the weakest there is when none is under it."""
    wording = study_wording(material)
    tested = _tested(material)
    weak = [pair for pair in tested if _accuracy(pair[1]) < WEAK] or tested[:1]
    if not weak:
        return {"weak_points": [_untested(material.items[0], wording)]}
    return {
        "weak_points": [
            {
                "topic": item.title,
                "severity": _severity(_accuracy(study)),
                "evidence": wording.evidence(study),
                "ref": item.ref,
            }
            for item, study in weak[:_MOST_WEAK_POINTS]
        ]
    }


def next_actions(material: Material, room: int, check: Check) -> dict[str, Any]:
    """Weak items again, then items never tested, then the longest unseen: five at most."""
    wording = study_wording(material)
    tested = _tested(material)
    weak = [pair for pair in tested if _accuracy(pair[1]) < WEAK]
    fresh = [(item, s) for item in material.items if (s := material.study_of(item)).attempts == 0]
    steady = sorted((pair for pair in tested if pair not in weak), key=_last_seen)
    actions = [_action(item, study, wording) for item, study in [*weak, *fresh, *steady]]
    return {"actions": actions[:_MOST_ACTIONS]}


def _tested(material: Material) -> list[tuple[Item, Studied]]:
    """Items with scored attempts, the least mastered first."""
    pairs = [(item, material.study_of(item)) for item in material.items]
    tested = [pair for pair in pairs if pair[1].attempts > 0 and pair[1].accuracy is not None]
    return sorted(tested, key=lambda pair: (_accuracy(pair[1]), -pair[1].attempts))


def _accuracy(study: Studied) -> float:
    return float(study.accuracy or 0.0)


def _last_seen(pair: tuple[Item, Studied]) -> str:
    return pair[1].last_seen or ""


def _confidence(tested: list[tuple[Item, Studied]]) -> float:
    carried = sum(min(study.attempts, ENOUGH_ATTEMPTS) for _, study in tested)
    return round(carried / (ENOUGH_ATTEMPTS * len(tested)), 2)


def _summary(material: Material, tested: list[tuple[Item, Studied]], wording: StudyWording) -> str:
    attempts = sum(study.attempts for _, study in tested)
    mean = sum(_accuracy(study) * study.attempts for _, study in tested) / attempts
    return wording.summary(
        tested=len(tested),
        points=len(material.items),
        attempts=attempts,
        mean=mean,
        strongest=tested[-1][0].title,
        weakest=tested[0][0].title,
    )


def _severity(accuracy: float) -> str:
    return "high" if accuracy < HIGH else "medium" if accuracy < MEDIUM else "low"


def _untested(item: Item, wording: StudyWording) -> dict[str, Any]:
    return {
        "topic": item.title,
        "severity": "low",
        "evidence": wording.never_tested,
        "ref": item.ref,
    }


def _action(item: Item, study: Studied, wording: StudyWording) -> dict[str, Any]:
    never = study.attempts == 0
    weak = not never and _accuracy(study) < WEAK
    return {
        "title": wording.action(item.title, weak=weak, never=never),
        "priority": _severity(_accuracy(study)) if weak else "medium" if never else "low",
        "minutes": _minutes(study),
        "reason": wording.never_tested if never else wording.evidence(study),
        "ref": item.ref,
    }


def _minutes(study: Studied) -> int:
    """Time for a session of ten questions at the learner's own pace, within bounds."""
    low, high = _MINUTES
    if study.mean_duration_ms is None:
        return 10
    return min(high, max(low, math.ceil(study.mean_duration_ms * _QUESTIONS_PER_SESSION / 60_000)))
