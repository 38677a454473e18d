"""Hot statements as PL/pgSQL functions, whose plans the server keeps for each of its sessions.

A file whose header ends in `Function (<parameter> <type>, ...) returns <type>` is one. Invariant: a
function's name holds a hash of its definition, so it is never replaced, and code of two versions
finds its own: `aijobs migrate` makes what is absent and drops nothing.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

from aijobs.models.sql import texts

#: What all names begin with.
PREFIX = "stmt_"

# One plan a session, whatever the parameters. It may be made while a table is empty, and must still
# do when thousands of rows have come since: so it goes by indexes, for better or worse. JIT is off,
# since a server before 18 gives what is disabled and still needed a cost that JIT seems worth.
_PLANNER = " ".join(
    f"SET {setting}"
    for setting in (
        "plan_cache_mode = force_generic_plan",
        "enable_seqscan = off",
        "enable_sort = off",
        "jit = off",
    )
)

_DECLARED = re.compile(r"Function \((?P<parameters>[^)]*)\) (?P<returns>returns .+)$")
_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Function:
    """How a statement is made a function, and how it is called with the statement's parameters."""

    name: str
    definition: str
    call: str


@cache
def of(name: str) -> Function | None:
    """The function of `<name>.sql`, if its header declares one."""
    return declared(name, texts.header(name), texts.text(name))


def every() -> list[Function]:
    """The functions of all files."""
    return [made for name in texts.names() if (made := of(name)) is not None]


def declared(name: str, header: str, statement: str) -> Function | None:
    """The function that a header declares for its statement.

    Raises ValueError when the declared parameters are not those of the statement.
    """
    found = _DECLARED.search(header)
    if found is None:
        return None
    types = _types(name, found["parameters"], statement)
    places = {parameter: f"${place}" for place, parameter in enumerate(types, 1)}
    returns = found["returns"]
    query = "" if returns == "returns void" else "RETURN QUERY "
    # Where a column of the result is named like one of a table, the table's is meant.
    source = f"#variable_conflict use_column\nBEGIN\n{query}{statement % places};\nEND"
    signature = f"({', '.join(types.values())}) {returns} LANGUAGE plpgsql {_PLANNER}"
    digest = hashlib.sha256(f"{signature}\n{source}".encode()).hexdigest()[:12]
    made = f"{PREFIX}{name}_{digest}"
    given = ", ".join(f"%({parameter})s::{kind}" for parameter, kind in types.items())
    return Function(
        name=made,
        definition=f"CREATE FUNCTION {made}{signature} AS $stmt${source}$stmt$",
        call=f"SELECT * FROM {made}({given})",
    )


def _types(name: str, parameters: str, statement: str) -> dict[str, str]:
    """Parameter -> type, in the order of the declaration."""
    words = [parameter.split(maxsplit=1) for parameter in parameters.split(",")]
    types = {word: kind.strip() for word, kind in words}
    used = set(_PARAMETER.findall(statement))
    if used != set(types):
        undeclared, unused = sorted(used - set(types)), sorted(set(types) - used)
        raise ValueError(f"{name}.sql: parameters undeclared {undeclared}, unused {unused}")
    return types
