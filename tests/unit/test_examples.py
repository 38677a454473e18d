"""The example material is what docs/examples/README.md says, and fit for questions.

Invariant: a point's first sentence names the point once, so that leaving it out makes a gap.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aijobs.engine.offline.material import BLANK, Item
from aijobs.http.knowledge_bases import PointsBody

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ACTIVITIES = {"quiz", "flashcard", "recall", "reading"}


def _json_points() -> list[dict[str, Any]]:
    base = json.loads((EXAMPLES / "cell_biology.json").read_text(encoding="utf-8"))
    points: list[dict[str, Any]] = base["points"]
    return points


def _csv_rows(name: str) -> list[dict[str, str]]:
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _csv_points() -> list[dict[str, Any]]:
    rows = _csv_rows("us_history.csv")
    return [{**row, "tags": row["tags"].split(";")} for row in rows]


def _note_points() -> list[dict[str, Any]]:
    text = (EXAMPLES / "photosynthesis_zh.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    parted = (section.partition("\n") for section in sections)
    return [{"title": title, "body": body.strip(), "tags": []} for title, _, body in parted]


BIOLOGY, HISTORY, NOTE = _json_points(), _csv_points(), _note_points()
LOG = _csv_rows("study_log.csv")


def _item(point: dict[str, Any]) -> Item:
    return Item("k1", point["title"], point["body"], tuple(point["tags"]))


ITEMS = [_item(point) for point in (*BIOLOGY, *HISTORY, *NOTE)]


def test_the_sizes_are_as_promised() -> None:
    assert len(BIOLOGY) >= 64
    assert len(HISTORY) == 20
    assert 8 <= len(NOTE) <= 12
    assert len(LOG) >= 520


def test_the_readme_counts_what_is_there() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    counted = {
        name: int(number) for name, number in re.findall(r"^\| `(\w+\.\w+)` .*?(\d+)", text, re.M)
    }
    assert counted == {
        "cell_biology.json": len(BIOLOGY),
        "study_log.csv": len(LOG),
        "us_history.csv": len(HISTORY),
        "photosynthesis_zh.md": len(NOTE),
    }


@pytest.mark.parametrize("points", [BIOLOGY, HISTORY, NOTE], ids=["biology", "history", "note"])
def test_the_api_takes_the_points_as_they_are(points: list[dict[str, Any]]) -> None:
    assert len(PointsBody.model_validate({"points": points}).points) == len(points)


@pytest.mark.parametrize("points", [BIOLOGY, HISTORY, NOTE], ids=["biology", "history", "note"])
def test_no_two_points_share_a_title_or_a_sentence(points: list[dict[str, Any]]) -> None:
    titles = Counter(point["title"].casefold() for point in points)
    sentences = Counter(text for point in points for text in _item(point).sentences)
    assert [text for text, count in (titles + sentences).items() if count > 1] == []


def test_every_body_is_two_to_four_whole_sentences() -> None:
    counts = {item.title: len(item.sentences) for item in ITEMS}
    assert {title: count for title, count in counts.items() if not 2 <= count <= 4} == {}
    assert [text for item in ITEMS for text in item.sentences if text[-1] not in ".。"] == []


def test_every_first_sentence_names_its_point_once() -> None:
    first = {item.title: item.sentences[0] for item in ITEMS}
    assert [t for t, text in first.items() if text.casefold().count(t.casefold()) != 1] == []
    gaps = {item.title: item.blanked(item.sentences[0]) or "" for item in ITEMS}
    assert [title for title, gap in gaps.items() if gap.count(BLANK) != 1] == []


def test_no_later_sentence_names_its_point() -> None:
    assert [t for item in ITEMS for t in item.sentences[1:] if item.is_named_in(t)] == []


def test_a_definition_leans_on_one_other_point_at_most() -> None:
    biology = ITEMS[: len(BIOLOGY)]
    for item in biology:
        gap = item.blanked(item.sentences[0]) or ""
        assert len([other.title for other in biology if other.is_named_in(gap)]) <= 1, gap


def test_tags_are_few_and_each_is_shared_by_enough_points_for_wrong_options() -> None:
    assert {len(point["tags"]) for point in BIOLOGY} <= {1, 2, 3}
    tags = Counter(tag for point in BIOLOGY for tag in point["tags"])
    assert len(tags) <= 10
    assert min(tags.values()) >= 4


def test_every_record_is_of_a_point_and_a_few_points_were_never_studied() -> None:
    titles, studied = {p["title"] for p in BIOLOGY}, {r["point_title"] for r in LOG}
    assert studied <= titles
    assert 3 <= len(titles - studied) <= 20


def test_the_values_of_the_records_are_in_range() -> None:
    assert {record["activity"] for record in LOG} == ACTIVITIES
    assert [r for r in LOG if not 1_000 <= int(r["duration_ms"]) <= 600_000] == []
    assert [r for r in LOG if r["score"] and not 0 <= float(r["score"]) <= 1] == []


def test_reading_alone_has_neither_an_answer_nor_a_score() -> None:
    for record in LOG:
        if record["activity"] == "reading":
            assert (record["correct"], record["score"]) == ("", "")
        else:
            assert record["correct"] in {"true", "false"}
            assert (float(record["score"]) >= 0.6) == (record["correct"] == "true")


def test_the_records_are_in_order_and_none_begins_before_the_last_one_ended() -> None:
    ends = [datetime.fromisoformat(record["at"]) for record in LOG]
    begins = [
        end - timedelta(milliseconds=int(r["duration_ms"]))
        for end, r in zip(ends, LOG, strict=True)
    ]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))
    assert {end.tzinfo for end in ends} == {UTC}
    assert datetime(2026, 9, 28, tzinfo=UTC) <= begins[0]
    assert ends[-1] < datetime(2026, 11, 23, tzinfo=UTC)
    assert ends[-1] - ends[0] > timedelta(weeks=7)


def test_the_learner_knows_some_points_well_and_others_badly_and_improves() -> None:
    answers: dict[str, list[bool]] = {}
    for record in LOG:
        if record["correct"]:
            answers.setdefault(record["point_title"], []).append(record["correct"] == "true")
    known = [sum(given) / len(given) for given in answers.values() if len(given) >= 3]
    assert sum(share >= 0.9 for share in known) >= 10
    assert sum(share <= 0.5 for share in known) >= 5
    early = [right for given in answers.values() for right in given[:2]]
    late = [right for given in answers.values() for right in given[4:]]
    assert sum(late) / len(late) > sum(early) / len(early) + 0.1
