"""The operations on the rest of a learner's data: materials, study records, profile."""

from __future__ import annotations

from aijobs.http.materials import MaterialBody
from aijobs.http.openapi.learner_shapes import (
    Material,
    MaterialLine,
    Profile,
    RecordsAdded,
    StudyRecord,
)
from aijobs.http.openapi.operation import API, Answer, Group, Operation
from aijobs.http.openapi.parameters import IN_KNOWLEDGE_BASE, OF_POINT, PAGING
from aijobs.http.openapi.shape import Page
from aijobs.http.profiles import ProfileBody
from aijobs.http.study_records import RecordsBody

_MATERIALS = f"{API}/materials"
_MATERIAL = f"{_MATERIALS}/{{materialId}}"
_RECORDS = f"{API}/study-records"
_PROFILE = f"{API}/profile"

MATERIALS = Group(
    "Materials",
    "Longer texts.",
    (
        Operation(
            "createMaterial",
            "POST",
            _MATERIALS,
            "Add a material",
            body=MaterialBody,
            answers=(Answer(201, "It was added.", Material, ("Location",)),),
            problems=("TARGET_NOT_FOUND",),
        ),
        Operation(
            "listMaterials",
            "GET",
            _MATERIALS,
            "List your materials, without their texts",
            parameters=(IN_KNOWLEDGE_BASE, *PAGING),
            answers=(Answer(200, "A page of materials.", Page[MaterialLine]),),
            problems=("NOT_FOUND",),
        ),
        Operation(
            "getMaterial",
            "GET",
            _MATERIAL,
            "Read a material",
            answers=(Answer(200, "The material.", Material),),
        ),
        Operation(
            "changeMaterial",
            "PUT",
            _MATERIAL,
            "Change a material",
            body=MaterialBody,
            answers=(Answer(200, "The material as it is now.", Material),),
            problems=("TARGET_NOT_FOUND",),
        ),
        Operation(
            "deleteMaterial",
            "DELETE",
            _MATERIAL,
            "Delete a material",
            answers=(Answer(204, "It is gone."),),
        ),
    ),
)

LEARNER = Group(
    "Learner",
    "What you have studied, and what you tell about yourself.",
    (
        Operation(
            "addStudyRecords",
            "POST",
            _RECORDS,
            "Add study records",
            description="All of them or, when one is not valid, none.",
            body=RecordsBody,
            answers=(Answer(201, "They were stored.", RecordsAdded),),
            problems=("TARGET_NOT_FOUND",),
        ),
        Operation(
            "listStudyRecords",
            "GET",
            _RECORDS,
            "List your study records",
            parameters=(OF_POINT, *PAGING),
            answers=(Answer(200, "A page of records.", Page[StudyRecord]),),
            problems=("NOT_FOUND",),
        ),
        Operation(
            "getProfile",
            "GET",
            _PROFILE,
            "Read your profile",
            answers=(Answer(200, "What you have told.", Profile),),
        ),
        Operation(
            "saveProfile",
            "PUT",
            _PROFILE,
            "Replace your profile",
            description="What is left out is forgotten. What GET answers can be sent as it is.",
            body=ProfileBody,
            answers=(Answer(200, "The profile as it is now.", Profile),),
        ),
        Operation(
            "deleteProfile",
            "DELETE",
            _PROFILE,
            "Forget your profile",
            answers=(Answer(204, "It is gone."),),
        ),
    ),
)
