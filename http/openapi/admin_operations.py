"""The operations of administrators."""

from __future__ import annotations

from aijobs.http.admin.circuit import CircuitBody
from aijobs.http.admin.limits import LimitsBody
from aijobs.http.middleware import ADMIN_PREFIXES
from aijobs.http.openapi.admin_shapes import Change, Circuits, Diagnosis, PlatformBudget, UserLimits
from aijobs.http.openapi.operation import Answer, Group, Operation, Parameter
from aijobs.http.openapi.parameters import PAGING
from aijobs.http.openapi.shape import Page

_ADMIN = ADMIN_PREFIXES[0]
_LIMITS = f"{_ADMIN}/users/{{userId}}/limits"

_WHAT = Parameter(
    "what",
    {"type": "string", "examples": ["user.limits", "circuit.open"]},
    "Only changes of this kind.",
)
_CHANGED = Parameter(
    "target",
    {"type": "string", "examples": ["openai/deepseek-flash"]},
    "Only changes of this user (the id) or route (provider and model, with a slash between).",
)

ADMIN = Group(
    "Administration",
    "The platform's circuits and budget, and users' limits. A token with the role ADMIN reads; to "
    "change something needs SUPER_ADMIN, and leaves a row in the audit.",
    (
        Operation(
            "getCircuits",
            "GET",
            f"{_ADMIN}/circuit",
            "Read the circuits of the platform's routes",
            answers=(Answer(200, "All circuits.", Circuits),),
        ),
        Operation(
            "changeCircuits",
            "POST",
            f"{_ADMIN}/circuit",
            "Open, half open or close circuits",
            description=(
                "Those of the routes that `provider` and `model` name; without either, all. While "
                "a circuit is open nobody calls that route and its jobs wait; half open, a few "
                "jobs try it; closed, those who have waited go on. A circuit that is in that state "
                "already stays as it is, but with `hold` an open one is not probed by itself any "
                "more, whoever opened it."
            ),
            body=CircuitBody,
            answers=(Answer(200, "All circuits as they are now.", Circuits),),
        ),
        Operation(
            "getBudget",
            "GET",
            f"{_ADMIN}/budget",
            "Read the platform's budget and what is spent of it",
            answers=(Answer(200, "Limits, today and the days before.", PlatformBudget),),
        ),
        Operation(
            "getUserLimits",
            "GET",
            _LIMITS,
            "Read a user's limits",
            description="A user who has never asked for anything has the defaults.",
            answers=(Answer(200, "The limits.", UserLimits),),
        ),
        Operation(
            "changeUserLimits",
            "PUT",
            _LIMITS,
            "Change a user's limits",
            description=(
                "What is left out stays. Jobs of the user that wait for a budget try again at once."
            ),
            body=LimitsBody,
            answers=(Answer(200, "The limits as they are now.", UserLimits),),
        ),
        Operation(
            "listChanges",
            "GET",
            f"{_ADMIN}/audit",
            "List who changed what",
            parameters=(_WHAT, _CHANGED, *PAGING),
            answers=(Answer(200, "A page of changes.", Page[Change]),),
        ),
        Operation(
            "getDoctor",
            "GET",
            f"{_ADMIN}/doctor",
            "Check the invariants of the system",
            description="Reads more than other requests do: for people, not for every minute.",
            answers=(Answer(200, "Each with its count of violations.", Diagnosis),),
        ),
    ),
)
