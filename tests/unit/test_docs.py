"""The tables of docs/architecture.md say what the code's list says."""

from __future__ import annotations

from pathlib import Path

from aijobs.models.transitions import STATUSES, TERMINAL, TRANSITIONS, is_listed

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_transition_table_is_the_list() -> None:
    listed = [
        [
            str(edge.number),
            edge.name,
            ", ".join(sorted(edge.sources)) or "-",
            edge.target,
            edge.who,
            edge.event or "-",
        ]
        for edge in TRANSITIONS
    ]
    assert _table("| # | name |") == listed


def test_the_illegal_moves_are_all_the_others() -> None:
    shown: dict[str, set[str]] = {}
    for sources, targets in _table("| from | never directly to |"):
        for source in sources.split(", "):
            shown[source] = set(STATUSES) if targets == "anything" else set(targets.split(", "))
    for source in STATUSES:
        if source in TERMINAL:
            assert shown[source] == set(STATUSES)
        else:
            never = {target for target in STATUSES if not is_listed(source, target)} - {source}
            assert shown[source] - {source} == never


def _table(head: str) -> list[list[str]]:
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows
