"""CSV: columns by name, every usual delimiter and quoting, and faults that name their row."""

from __future__ import annotations

from pathlib import Path

import pytest

from aijobs.engine.importing import Draft
from tests.unit.engine.importing.reading import faults, only_fault, pairs, points

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "us_history.csv"


@pytest.mark.parametrize(
    "header",
    ["title,body", "Title,BODY", " title , body ", '"title","body"', "front,back", "\ntitle,body"],
)
def test_a_header_names_the_columns(header: str) -> None:
    assert pairs(f"{header}\nA,a\n", "csv") == [("A", "a")]


def test_columns_stand_in_any_order_beside_others() -> None:
    text = "id,tags,body,note,title\n7,x,a,n,A\n"
    assert points(text, "csv") == [Draft(2, "A", "a", ("x",))]


def test_title_and_body_go_before_front_and_back() -> None:
    assert pairs("front,back,title,body\n1,2,3,4\n", "csv") == [("3", "4")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    rows = [("title", "body", "tags"), ("A", '"a, b; c | d\te"', "x"), ("B", "b", "")]
    text = "\n".join(delimiter.join(row) for row in rows)
    assert points(text, "csv") == [Draft(2, "A", "a, b; c | d\te", ("x",)), Draft(3, "B", "b")]


def test_quoted_cells_hold_quotes_breaks_and_delimiters() -> None:
    text = 'title,body\r\n"A, or ""a""","one\r\n\r\ntwo"\r\nB,b "quoted"\r\n'
    assert points(text, "csv") == [
        Draft(2, 'A, or "a"', "one\n\ntwo"),
        Draft(5, "B", 'b "quoted"'),
    ]


def test_a_space_after_the_delimiter_does_not_hide_quotes() -> None:
    assert pairs('title, body\nA, "a, b"\n', "csv") == [("A", "a, b")]


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("x;y", ("x", "y")),
        ('" x , y z ,"', ("x", "y z")),
        ("甲；乙，丙", ("甲", "乙", "丙")),
        ("x;x;;y", ("x", "y")),
        ("", ()),
    ],
)
def test_tags_are_parted(cell: str, tags: tuple[str, ...]) -> None:
    assert points(f"title,body,tags\nA,a,{cell}\n", "csv")[0].tags == tags


def test_blank_rows_and_missing_last_cells_are_no_faults() -> None:
    text = "title,body,tags\n\nA,a\n , ,\nB,b,x,,\n"
    assert points(text, "csv") == [Draft(3, "A", "a"), Draft(5, "B", "b", ("x",))]


def test_a_title_is_one_line_and_cells_are_trimmed() -> None:
    assert pairs('title,body\n" two\nlines ","  a  "\n', "csv") == [("two lines", "a")]


def test_no_line_break_at_the_end_is_needed() -> None:
    assert pairs("title,body\rA,a", "csv") == [("A", "a")]


def test_the_example_comes_through() -> None:
    found = points(EXAMPLE.read_text(encoding="utf-8"), "csv")
    assert len(found) == 20
    assert (found[0].title, found[0].tags) == ("Boston Tea Party", ("revolution",))
    assert found[1].tags == ("revolution", "documents")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "the file is empty: choose one"),
        ("\n\n", 1, "the file is empty: choose one"),
        ("title,body", 2, "no row below the header: write one"),
        ("\n\ntitle,body\n\n , \n", 4, "no row below the header: write one"),
        (",,\n,,\n", 1, "no header: name the columns title and body (or front and back)"),
        ("A,a\nB,b\n", 1, "no header: name the columns title and body (or front and back)"),
        ("title,back\nA,a\n", 1, "no header"),
        ("title,body\n", 2, "no row below the header: write one"),
        ("title,body,Title\nA,a,b\n", 1, "column title appears twice"),
        ("title,body\nA,a\n,b\n", 3, "no title: give the row a text in column title"),
        ("title,body\nA,a\nB\n", 3, "no text: give the row a text in column body"),
        ("front,back\n ,a\n", 2, "no title: give the row a text in column front"),
        ("title,body\nA,a, b\n", 2, "3 cells below a header of 2: put cells that hold"),
        ('title,body\nA,a\nB,"b\nC,c\n', 3, "the quotes do not match"),
        ('title,body\nA,a\nB,"b\nC,"c"\n', 3, "the quotes do not match"),
        ('title,body\nA,"a"b\n', 2, "the quotes do not match"),
        (f"title,body\n{'t' * 301},a\n", 2, "the title has 301 characters, a point holds 300"),
        (f"title,body\nA,{'b' * 20_001}\n", 2, "the text has 20001 characters"),
        (f"title,body,tags\nA,a,{'t' * 61}\n", 2, "a tag has more than 60 characters"),
        (f"title,body,tags\nA,a,{';'.join(map(str, range(21)))}\n", 2, "21 tags, a point holds 20"),
    ],
)
def test_a_fault_names_its_line_and_what_mends_it(text: str, line: int, says: str) -> None:
    field, message = only_fault(text, "csv")
    assert (field, message[: len(says)]) == (f"line {line}", says)


def test_all_faults_are_told_at_once() -> None:
    assert [field for field, _ in faults("title,body\n,a\nB,b\nC\n", "csv")] == ["line 2", "line 4"]


def test_reading_ends_at_the_twentieth_fault() -> None:
    assert len(faults("title,body\n" + "A\n" * 100, "csv")) == 20


def test_a_quote_that_is_never_closed_is_found_where_it_was_opened() -> None:
    text = 'title,body\nA,a\nB,"b\n' + "C,c\n" * 200_000
    field, message = only_fault(text, "csv")
    assert (field, message) == (
        "line 3",
        "the row has more than 100000 characters: close its quotes, or split it",
    )


def test_five_thousand_points_are_read_and_one_more_is_refused() -> None:
    assert len(pairs("title,body\n" + "t,b\n" * 5000, "csv")) == 5000
    assert only_fault("title,body\n" + "t,b\n" * 5001, "csv") == (
        "line 5002",
        "more than 5000 points: split the file",
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a" * 10_000_000, 1, "no header"),
        ("," * 10_000_000, 1, "no header"),
        ("title,body\n" + "ab," * 3_000_000, 2, "the row has more than 100000 characters"),
        ("title,body\n" + "\n" * 9_000_000, 500_001, "more than 500000 lines"),
    ],
    ids=["line", "commas", "row", "lines"],
)
def test_ten_megabytes_of_nonsense_are_refused(text: str, line: int, says: str) -> None:
    field, message = only_fault(text, "csv")
    assert (field, message[: len(says)]) == (f"line {line}", says)
