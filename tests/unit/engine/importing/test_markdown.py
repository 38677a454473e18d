"""Markdown: which headings become points, and that their texts come through letter by letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engine.importing.reading import faults, only_fault, pairs, points

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "photosynthesis_zh.md"


def test_a_flat_file_gives_a_point_for_each_heading() -> None:
    text = "# Cells\n\nAbout cells.\n\n## Nucleus\n\nHolds DNA.\n\n## Ribosome\nMakes proteins.\n"
    assert pairs(text, "markdown") == [("Nucleus", "Holds DNA."), ("Ribosome", "Makes proteins.")]


def test_a_point_knows_its_line() -> None:
    found = points("---\ntitle: x\n---\n\n## A\n\na\n\n## B\nb", "markdown")
    assert [point.line for point in found] == [5, 9]


def test_a_file_in_chapters_gives_their_sections() -> None:
    text = "# Book\n## One\n### a\nA\n### b\nB\n## Two\n### c\nC\n"
    assert pairs(text, "markdown") == [("a", "A"), ("b", "B"), ("c", "C")]


def test_the_text_of_a_chapter_itself_is_a_point_too() -> None:
    text = "## One\nIntroduction.\n### a\nA\n## Two\n### b\nB\n## Summary\nAll of it.\n"
    assert pairs(text, "markdown") == [
        ("One", "Introduction."),
        ("a", "A"),
        ("b", "B"),
        ("Summary", "All of it."),
    ]


def test_a_level_that_few_sections_have_stays_text() -> None:
    text = "## One\nA\n### Example\nB\n## Two\nC\n## Three\nD\n"
    assert pairs(text, "markdown") == [("One", "A\n### Example\nB"), ("Two", "C"), ("Three", "D")]


def test_a_level_that_half_of_the_sections_have_stays_text() -> None:
    text = "## One\n### a\nA\n## Two\nB\n"
    assert pairs(text, "markdown") == [("One", "### a\nA"), ("Two", "B")]


def test_a_deeper_heading_before_the_first_of_the_level_is_not_lost() -> None:
    text = "### Before\nA\n## One\nB\n## Two\nC\n"
    assert pairs(text, "markdown") == [("Before", "A"), ("One", "B"), ("Two", "C")]


def test_top_headings_are_points_where_there_are_several() -> None:
    assert pairs("# One\nA\n# Two\nB\n", "markdown") == [("One", "A"), ("Two", "B")]


def test_a_lone_heading_is_a_point() -> None:
    assert pairs("# One\nA", "markdown") == [("One", "A")]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Plain", "Plain"),
        ("   ##   Spaced \t out  ", "Spaced out"),
        ("##\tTab", "Tab"),
        ("## Closed ##", "Closed"),
        ("## C#", "C#"),
        ("###### Deep", "Deep"),
        ("## `code` and **bold**", "`code` and **bold**"),
        ("Underlined\n----------", "Underlined"),
        ("Underlined\n=", "Underlined"),
    ],
)
def test_a_heading_is_recognized(line: str, title: str) -> None:
    assert pairs(f"{line}\ntext\n", "markdown") == [(title, "text")]


@pytest.mark.parametrize(
    "body",
    [
        "#hashtag",
        "####### seven",
        "    ## indented code",
        "\t## indented code",
        "> ## quoted",
        "```\n## in a fence\n```",
        "~~~ text\n## in a fence\n```\n## still in it\n~~~",
        "````\n```\n## still in it\n````",
        "- ```sh\n  # in a list\n  ```",
        "1. ```sh\n   # in a list\n   ```",
        "<!--\n## commented out\n-->",
        "<!-- one line --> and more",
        "paragraph\nof two lines\n---",
        "- item\n---",
        "| a | b |\n---",
        "paragraph\n\n---",
        "***\n---",
        "```not a fence```",
    ],
)
def test_what_is_no_heading_stays_in_the_text(body: str) -> None:
    text = f"## One\n{body}\n\n## Two\nend\n"
    assert pairs(text, "markdown") == [("One", body), ("Two", "end")]


def test_the_text_keeps_its_lists_code_and_indents() -> None:
    body = (
        "    code first\n\n- a\n  - b\n\n```py\nif x:\n    y = '# no'\n\n```\n\n$$E = mc^2$$  \nend"
    )
    assert pairs(f"## A\n\n\n{body}\n\n \n", "markdown") == [("A", body)]


@pytest.mark.parametrize(
    "front", ["---\na: 1\n\n## no: x\n---\n", "+++\na = 1\n+++\n", "---\n---\n"]
)
def test_front_matter_is_passed_over(front: str) -> None:
    assert pairs(f"{front}## One\ntext\n", "markdown") == [("One", "text")]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert pairs("---\n\n## One\nA\n\n---\n\n## Two\nB\n", "markdown") == [
        ("One", "A\n\n---"),
        ("Two", "B"),
    ]


def test_every_kind_of_line_break_breaks_lines() -> None:
    assert pairs("## A\r\na\r\n\r\n## B\rb\r", "markdown") == [("A", "a"), ("B", "b")]


def test_a_chinese_file_comes_through() -> None:
    found = pairs(EXAMPLE.read_text(encoding="utf-8"), "markdown")
    assert len(found) == 12
    assert found[0][0] == "光合作用的总过程"
    assert found[0][1].startswith("光合作用的总过程是绿色植物利用光能")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "the file is empty"),
        (" \n\t\n", 1, "the file is empty"),
        ("Only text.\n", 1, "no heading: begin each point with a line like `## Title`"),
        ("## A\na\n##\nb\n", 3, "the heading has no title"),
        ("## A\na\n\n## B\n\n## C\nc\n", 4, "no text below the heading"),
        ("## A\na\n\n```\n## B\nb\n", 4, "this code block has no end"),
        ("## A\na\n<!-- x\n## B\nb\n", 3, "this comment has no end"),
        (f"## A\na\n## {'t' * 301}\nb\n", 3, "the title has 301 characters, a point holds 300"),
        (f"## A\n{'b' * 20_001}\n", 1, "the text has 20001 characters, a point holds 20000"),
    ],
)
def test_a_fault_names_its_line_and_what_mends_it(text: str, line: int, says: str) -> None:
    field, message = only_fault(text, "markdown")
    assert field == f"line {line}"
    assert message.startswith(says)


def test_limits_are_counted_in_characters() -> None:
    title, body = "字" * 300, "字" * 20_000
    assert pairs(f"## {title}\n{body}", "markdown") == [(title, body)]


def test_all_faults_are_told_at_once() -> None:
    found = faults("## A\n\n## B\nb\n##\nc\n", "markdown")
    assert [field for field, _ in found] == ["line 1", "line 5"]


def test_reading_ends_at_the_twentieth_fault() -> None:
    assert len(faults("## A\n" * 100, "markdown")) == 20


def test_five_thousand_points_are_read_and_one_more_is_refused() -> None:
    assert len(pairs("## t\nb\n" * 5000, "markdown")) == 5000
    assert only_fault("## t\nb\n" * 5001, "markdown") == (
        "line 10001",
        "more than 5000 points: split the file",
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a" * 10_000_000, 1, "no heading"),
        ("## " + "a" * 9_999_990 + "\nb", 1, "the title has 9999990 characters"),
        ("## a\n" + "- " * 4_999_990, 1, "the text has 9999979 characters"),
        ("## a\n" + "`" * 9_999_990, 2, "this code block has no end"),
        ("## a\n" + "b\n" * 4_999_990, 500_001, "more than 500000 lines: split the file"),
        ("#\n" * 50_001, 50_001, "more than 50000 headings: split the file"),
    ],
    ids=["line", "heading", "list", "fence", "lines", "headings"],
)
def test_ten_megabytes_of_nonsense_are_refused(text: str, line: int, says: str) -> None:
    field, message = only_fault(text, "markdown")
    assert (field, message[: len(says)]) == (f"line {line}", says)
