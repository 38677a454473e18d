"""The operations on knowledge bases: they themselves, their points, imports."""

from __future__ import annotations

from aijobs.http.knowledge_bases import BaseBody, PointBody, PointsBody
from aijobs.http.openapi.learner_shapes import (
    Imported,
    KnowledgeBase,
    KnowledgePoint,
    PointsAdded,
)
from aijobs.http.openapi.operation import API, Answer, FileBody, Group, Operation
from aijobs.http.openapi.parameters import FILE_FORMAT, PAGING
from aijobs.http.openapi.shape import Page

_BASES = f"{API}/knowledge-bases"
_BASE = f"{_BASES}/{{baseId}}"
_POINTS = f"{_BASE}/points"
_POINT = f"{_POINTS}/{{pointId}}"

_FILE = FileBody(
    {
        "text/markdown": "# Nucleus\n\nThe part of the cell that holds its genome.\n",
        "text/csv": "title,body\nNucleus,The part of the cell that holds its genome.\n",
        "text/plain": None,
        "application/octet-stream": None,
    },
    "The file as it is, up to 10 MB. Each heading of Markdown and each row of CSV is a point.",
)

KNOWLEDGE_BASES = Group(
    "Knowledge bases",
    "What you study, as points with a title and a text.",
    (
        Operation(
            "createKnowledgeBase",
            "POST",
            _BASES,
            "Create a knowledge base",
            body=BaseBody,
            answers=(Answer(201, "It was created, empty.", KnowledgeBase, ("Location",)),),
        ),
        Operation(
            "listKnowledgeBases",
            "GET",
            _BASES,
            "List your knowledge bases",
            parameters=PAGING,
            answers=(Answer(200, "A page of knowledge bases.", Page[KnowledgeBase]),),
        ),
        Operation(
            "getKnowledgeBase",
            "GET",
            _BASE,
            "Read a knowledge base",
            answers=(Answer(200, "The knowledge base.", KnowledgeBase),),
        ),
        Operation(
            "renameKnowledgeBase",
            "PUT",
            _BASE,
            "Rename a knowledge base",
            body=BaseBody,
            answers=(Answer(200, "The knowledge base as it is now.", KnowledgeBase),),
        ),
        Operation(
            "deleteKnowledgeBase",
            "DELETE",
            _BASE,
            "Delete a knowledge base and all that is in it",
            answers=(Answer(204, "It is gone."),),
        ),
        Operation(
            "addPoints",
            "POST",
            _POINTS,
            "Add points",
            description="All of them or, when one is not valid, none.",
            body=PointsBody,
            answers=(Answer(201, "The new points, in your order.", PointsAdded),),
        ),
        Operation(
            "listPoints",
            "GET",
            _POINTS,
            "List the points of a knowledge base",
            parameters=PAGING,
            answers=(Answer(200, "A page of points.", Page[KnowledgePoint]),),
        ),
        Operation(
            "getPoint",
            "GET",
            _POINT,
            "Read a point",
            answers=(Answer(200, "The point.", KnowledgePoint),),
        ),
        Operation(
            "changePoint",
            "PUT",
            _POINT,
            "Change a point",
            body=PointBody,
            answers=(Answer(200, "The point as it is now.", KnowledgePoint),),
        ),
        Operation(
            "deletePoint", "DELETE", _POINT, "Delete a point", answers=(Answer(204, "It is gone."),)
        ),
        Operation(
            "importPoints",
            "POST",
            f"{_BASE}/import",
            "Import a file as points",
            description="All of it or, when a line cannot be read, nothing; the refusal names the "
            "line. A content type that tells no format needs `format`.",
            parameters=(FILE_FORMAT,),
            body=_FILE,
            answers=(Answer(201, "The points were added.", Imported),),
        ),
    ),
)
