"""A claim that the offline provider calls false is one that its source cannot bear out."""

from __future__ import annotations

import pytest

from aijobs.engine.offline.distractors import contradicting
from tests.unit.engine.test_offline import questions


@pytest.mark.parametrize(
    ("sentence", "number", "other"),
    [
        ("A day has 24 hours.", "24", "12"),
        ("Spiders have 8 legs.", "8", "16"),
        ("It has about 5 lobes.", "5", "10"),
        ("About 500 species live there.", "500", "250"),
        ("It weighs 4200 kg.", "4200", "2100"),
        ("It began in 1789.", "1789", "1799"),
        ("它爆发于1911年。", "1911", "1921"),
        ("A cell has 1 nucleus.", "1", "2"),
        # what could be true as well
        ("Absolute zero is 0 kelvin.", "0", None),
        ("It lives up to 30 years.", "30", None),
        ("At least 12 are needed.", "12", None),
        ("It is more than 40 km away.", "40", None),
        ("It has 3 or more parts.", "3", None),
        ("From 3 to 5 days pass.", "3", None),
        ("It lies between 10 and 30.", "10", None),
        ("It was built around 1800.", "1800", None),
        ("最多有12个。", "12", None),
        ("温度在10到30度。", "10", None),
        ("大约建于1500年。", "1500", None),
    ],
)
def test_a_changed_number_cannot_be_true_as_well(
    sentence: str, number: str, other: str | None
) -> None:
    assert contradicting(sentence, number) == other


def test_a_case_at_law_is_one_sentence() -> None:
    """ "Marbury v. Madison" does not end after the v."""
    body = "Marbury v. Madison gave the court its review. Gibbon v. Ogden was about trade."
    asked = questions([("Judicial review", body)], 10)
    assert asked
    assert all(
        question["explanation"].count(" v. ") == 1
        and "say: “Madison" not in question["explanation"]
        for question in asked
    )
