"""TeX commands that parsed as control characters come back; honest control characters stay."""

from __future__ import annotations

import pytest

from tests.unit.engine.answer.reading import CARDS, card, fault_of, read


@pytest.mark.parametrize(
    "text",
    [
        r"$\frac{1}{2}$",
        r"\frac12 outside of mathematics",
        r"\beta blocker",
        r"\forall x: \bar{x}",
        r"$\theta$",
        r"$a \times b$",
        r"$\nu = 1$",
        r"$$\nabla f$$",
        r"$\rho \to 0$",
        r"$\text{a}\neq b$",
        r"$\textcolor{red}{x} \tag{1}$",
        r"$\nicefrac{1}{2} = \tr A \braket{a} \rank B$",
        r"\(\theta\)",
        r"\[\tau\]",
        r"$\nabla \cdot E = \frac{\rho}{\epsilon_0}$",
    ],
)
def test_a_command_with_one_backslash_too_few_is_restored(text: str) -> None:
    answer = read(CARDS, card(text))
    assert (answer.outcome, answer.value["flashcards"][0]["back"]) == ("repair", text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"First.\nuse it.\nabla is no word", "First.\nuse it.\nabla is no word"),
        (r"a\tthere", "a\tthere"),
        (r"costs $5\nand $6", "costs $5\nand $6"),
        (r"$x$\nabla $y$", "$x$\nabla $y$"),
        (r"$5 a\tan $6", "$5 a\tan $6"),
        (r"$$\\begin{pmatrix} a\\\\b \\end{pmatrix}$$", r"$$\begin{pmatrix} a\\b \end{pmatrix}$$"),
        (r"$\\theta$", r"$\theta$"),
    ],
)
def test_text_that_is_right_is_not_touched(source: str, text: str) -> None:
    answer = read(CARDS, card(source))
    assert (answer.outcome, answer.value["flashcards"][0]["back"]) == ("accept", text)


def test_a_form_feed_that_spells_nothing_is_removed_like_any_control_character() -> None:
    assert read(CARDS, card(r"page\fnext")).value["flashcards"][0]["back"] == "pagenext"


def test_rows_that_lost_a_backslash_are_not_stored() -> None:
    assert fault_of(CARDS, card(r"\begin{pmatrix}a\\ b\end{pmatrix}")).code == "OUTPUT_INVALID_JSON"
