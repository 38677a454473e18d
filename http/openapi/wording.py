"""What the fields of requests mean, and an example of each: the models say only what is valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_UUID = "0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4"


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence, empty where the name says it all, and an example, None for none."""

    sentence: str = ""
    example: Any = None


_CREDENTIAL = {
    "label": Told("How you call it; left out, its provider's name.", "My key"),
    "provider": Told("Whose key it is.", "deepseek"),
    "baseUrl": Told("Where the key is sent; a provider known by name has one."),
    "apiKey": Told("The key, in 8 to 512 visible ASCII characters.", "the-key-that-ends-in-9f3c"),
}

#: By schema and field. What a job type adds is under "parameters".
REQUESTS: dict[str, dict[str, Told]] = {
    "JobRequest": {
        "jobType": Told("What to do: see the job types."),
        "targetType": Told("What to do it about."),
        "targetId": Told("The id of that; of `user`, your own.", _UUID),
        "apiKeyMode": Told("Whose key pays the model; left out, the job type's default."),
        "credentialId": Told("Which key of your own."),
        "idempotencyKey": Told("Yours to choose: the same key again finds the same job."),
        "priority": Told("0 first, 100 last. You may only make a job less urgent than its type."),
        "after": Told("Jobs of yours that must succeed first."),
    },
    "parameters": {
        "questionCount": Told("How many questions.", 5),
        "cardCount": Told("How many cards.", 10),
        "pointIds": Told("Only these points of the knowledge base; left out, all."),
        "answerText": Told(
            "What you wrote, from memory or in your own words.",
            "The nucleus holds the genome of the cell.",
        ),
    },
    "BaseBody": {"title": Told(example="Cell biology")},
    "PointsBody": {"points": Told()},
    "PointBody": {
        "title": Told(example="Nucleus"),
        "body": Told("What is to be known.", "The part of the cell that holds its genome."),
        "tags": Told(example=["cell"]),
    },
    "MaterialBody": {
        "title": Told(example="Lecture 3"),
        "body": Told("The text.", "Every cell has a membrane."),
        "knowledgeBaseId": Told("The knowledge base that it belongs to, if any.", _UUID),
    },
    "RecordsBody": {"records": Told()},
    "RecordBody": {
        "knowledgePointId": Told("What was studied.", _UUID),
        "activity": Told("How."),
        "correct": Told("Whether the answer was right.", True),
        "score": Told("From 0 to 1.", 0.8),
        "durationMs": Told("How long it took.", 5400),
        "at": Told("When, with its zone.", "2026-03-01T09:30:00Z"),
    },
    "NewCredential": _CREDENTIAL,
    "ChangedCredential": _CREDENTIAL,
    "SettingsBody": {
        "aiEnabled": Told("Off cancels all your jobs and refuses new ones.", True),
        "timeZone": Told("An IANA name; acts from your next midnight.", "Asia/Shanghai"),
    },
    "CircuitBody": {
        "action": Told("What becomes of them.", "half-open"),
        "provider": Told("Only routes of this provider.", "openai"),
        "model": Told("Only routes to this model.", "deepseek-flash"),
        "hold": Told("An opened circuit stays so until an administrator changes it."),
        "reason": Told("Stands in the audit and as the circuit's cause.", "The provider's notice"),
    },
    "LimitsBody": {
        "maxDailyAiJobs": Told("Jobs a day, for each kind of key.", 40),
        "maxDailyTokenBudget": Told("Tokens a day, for each kind of key.", 200_000),
        "monthlyTokenQuota": Told("Tokens a month; null: no limit.", 3_000_000),
        "maxActiveJobs": Told("Jobs under way at once.", 10),
    },
    "ProfileBody": {
        "goals": Told("What you want to reach.", "Pass the exam in June"),
        "level": Told("Where you stand.", "first year"),
        "locale": Told("The language of what is made for you, as a BCP 47 tag.", "en"),
        "preferences": Told("Anything else, in up to 4 levels and 4096 bytes.", {"pace": "slow"}),
        "displayName": Told("Removed from everything that a model reads.", "Ada"),
    },
}


def word(schema: dict[str, Any], name: str) -> None:
    """Add what is told about the fields of a request to its schema, where the model is silent."""
    told = REQUESTS.get(name, {})
    for field, property_schema in schema.get("properties", {}).items():
        entry = told.get(field, Told())
        if entry.sentence:
            property_schema.setdefault("description", entry.sentence)
        if entry.example is not None:
            property_schema.setdefault("examples", [entry.example])
