"""What of a learner's own words reaches the snapshot and the provider."""

from __future__ import annotations

import json

from aijobs.models import database as db
from aijobs.models import profiles, results
from aijobs.models.profiles import NewProfile
from aijobs.models.tables import AiJob, KnowledgePoint
from tests.integration.engine.wire import attempt
from tests.scripted_provider import ScriptedProvider
from tests.unit.engine.test_redaction import KEPT, NAMES, REMOVED
from tests.world import World

ME = NAMES[0]
#: Of each sample what must not arrive; names but one belong to somebody else here.
PERSONAL = (
    "anna.schmidt+uni@example.co.uk",
    "zhangwei_88@qq.com",
    "13812345678",
    "138-1234-5678",
    "１３９１２３４５６７８",
    "62345678",
    "736-5000",
    "7700 900123",
    "901820",
    "555-0123",
    "11010519491231002X",
    "19491231 002x",
    "078-05-1120",
    "4111 1111 1111 1111",
    "378282246310005",
    "6222021234567890128",
    "ya29.a0Af-x_y",
    "pa55",
    "sk-proj",
    "ghp_",
    "AKIAIOSFODNN7EXAMPLE",
    "abcdef0123456789",
    "eyJzdWIiOiIxIn0",
    "SECRET",
    "Zhang Wei",
    "zhang  WEI",
)
WORDS = ("The nucleus holds the genome", "晚上打", "Call", "卡号", "Authorization:", "student")


def test_neither_snapshot_nor_prompt_holds_what_is_personal_and_all_else_arrives(
    wired: World, server: ScriptedProvider
) -> None:
    answer = "\n".join(["The nucleus holds the genome.", *REMOVED, *KEPT])
    profiles.save(
        wired.user_id,
        NewProfile(
            goals=f"I, {ME}, want to pass; write to me@example.com.",
            level="B2, tel. 13812345678",
            locale="en",
            preferences={"style": ["short", f"call me {ME}"], "me@example.com": 7},
            display_name=ME,
        ),
    )
    job = attempt(wired, _recall(wired, answer))
    assert job.lifecycle_status == "succeeded"
    (call,) = server.calls
    sent = "\n".join(message["content"] for message in call.body["messages"])
    stored = db.read(lambda: results.snapshot_of(job.id))
    assert stored is not None
    kept = json.dumps(stored.content, ensure_ascii=False)
    for text in (sent, kept):
        assert [personal for personal in (*PERSONAL, "me@example.com") if personal in text] == []
        assert [word for word in (*WORDS, "want to pass", "short") if word not in text] == []
    arrived = stored.content["answer_text"].split("\n")
    assert [line for text in KEPT for line in text.split("\n") if line not in arrived] == []
    assert stored.content["profile"] == {
        "goals": "I, [name], want to pass; write to [mail].",
        "level": "B2, tel. [phone]",
        "locale": "en",
        "preferences": {"style": ["short", "call me [name]"], "[mail]": 7},
    }


def test_study_material_is_not_the_learners_own_words(
    wired: World, server: ScriptedProvider
) -> None:
    """A point about a person or a formula is what it is, whatever it looks like."""
    body = "The RFC's example is alice@example.com; Luhn accepts 4111111111111111."
    db.read(lambda: KnowledgePoint.update(body=body).execute())
    attempt(wired, _recall(wired, "It is about an example."))
    (call,) = server.calls
    assert body in call.body["messages"][1]["content"]


def _recall(wired: World, answer: str) -> AiJob:
    point = db.read(lambda: KnowledgePoint.select().order_by(KnowledgePoint.position).first())
    return wired.create(
        "active_recall",
        targetType="knowledge_point",
        targetId=str(point.id),
        answerText=answer,
    )
