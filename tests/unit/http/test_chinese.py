"""Sentences in Chinese: from the catalog, with their facts; whatever it lacks, in English."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import falcon
import falcon.testing
import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import invalid
from aijobs.http.chinese import catalog, in_chinese
from aijobs.http.problems import handle_all


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (Sentence("must be a UUID"), "必须是 UUID"),
        (Sentence("At most {limit} bytes.", limit=9), "最多 9 字节。"),
        (Sentence("The job is {status}.", status="queued"), "任务当前状态为 queued。"),
        (Sentence("must be one of {choices}", choices=("a", "b")), "必须是以下之一：a、b"),
        (
            Sentence("{field} {message}.", field="at", message=Sentence("must be a UUID")),
            "at 必须是 UUID。",
        ),
        (
            Sentence(
                "{field}: {message}. Nothing was stored.",
                field=Sentence("line {line}", line=3),
                message=Sentence("more than {limit} lines: split the file", limit=2),
            ),
            "第 3 行：超过 2 行，请拆分文件。未保存任何内容。",
        ),
    ],
)
def test_a_sentence_is_said_in_chinese_with_its_facts(sentence: Sentence, expected: str) -> None:
    assert in_chinese(sentence) == expected


def test_what_somebody_wrote_is_never_a_template() -> None:
    kind = Sentence("Content-Type {kind} is not supported: send application/json.", kind="{limit}")
    assert in_chinese(kind) == "不支持 Content-Type {limit}，请使用 application/json。"


def test_what_the_catalog_lacks_is_said_in_english() -> None:
    assert in_chinese(Sentence("Untold {count}.", count=1)) == "Untold 1."
    outer = Sentence("The body cannot be used: {problem}", problem=Sentence("Untold."))
    assert in_chinese(outer) == "请求体无法使用：Untold."
    other_facts = Sentence.quoting("Too long", "string_too_long", {"longest": 3})
    assert in_chinese(other_facts) == "Too long"


class _Inner(BaseModel):
    a: int


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    a: int


_Text = Annotated[str, Field(min_length=2, max_length=3)]
_List = Annotated[list[int], Field(min_length=2, max_length=3)]
_Count = Annotated[int, Field(ge=1, le=9)]
_Share = Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)]

#: Kind of error -> a kind of field, a value that it does not take, English, Chinese.
PYDANTIC: dict[str, tuple[Any, Any, str, str]] = {
    "missing": (_Body, {}, "Field required", "是必填项"),
    "extra_forbidden": (
        _Body,
        {"a": 1, "b": 2},
        "Extra inputs are not permitted",
        "是不支持的字段",
    ),
    "model_type": (
        _Inner,
        1,
        "Input should be a valid dictionary or instance of _Inner",
        "必须是对象",
    ),
    "dict_type": (dict[str, Any], 1, "Input should be a valid dictionary", "必须是对象"),
    "list_type": (_List, 1, "Input should be a valid list", "必须是列表"),
    "string_type": (_Text, 1, "Input should be a valid string", "必须是字符串"),
    "string_unicode": (
        _Text,
        "\ud800",
        "Input should be a valid string, unable to parse raw data as a unicode string",
        "必须是有效的 Unicode 字符串",
    ),
    "bool_type": (bool, 1, "Input should be a valid boolean", "必须是 true 或 false"),
    "int_type": (_Count, "1", "Input should be a valid integer", "必须是整数"),
    "float_type": (_Share, "1", "Input should be a valid number", "必须是数字"),
    "finite_number": (
        _Share,
        float("inf"),
        "Input should be a finite number",
        "必须是有限的数字",
    ),
    "uuid_type": (UUID, 1, "UUID input should be a string, bytes or UUID object", "必须是 UUID"),
    "uuid_parsing": (
        UUID,
        "1",
        "Input should be a valid UUID, invalid length: found 1",
        "必须是有效的 UUID",
    ),
    "literal_error": (
        Literal["a", "b", "c"],
        "d",
        "Input should be 'a', 'b' or 'c'",
        "必须是以下之一：'a'、'b'、'c'",
    ),
    "greater_than_equal": (
        _Share,
        0.25,
        "Input should be greater than or equal to 0.5",
        "必须大于或等于 0.5",
    ),
    "less_than_equal": (_Share, 1.5, "Input should be less than or equal to 1", "必须小于或等于 1"),
    "string_too_short": (
        _Text,
        "x",
        "String should have at least 2 characters",
        "至少需要 2 个字符",
    ),
    "string_too_long": (_Text, "xxxx", "String should have at most 3 characters", "最多 3 个字符"),
    "too_short": (
        _List,
        [1],
        "List should have at least 2 items after validation, not 1",
        "至少需要 2 项，现有 1 项",
    ),
    "too_long": (
        _List,
        [1, 2, 3, 4],
        "List should have at most 3 items after validation, not 4",
        "最多 3 项，现有 4 项",
    ),
}


def test_every_kind_of_error_in_the_catalog_has_a_case() -> None:
    assert set(PYDANTIC) == set(catalog()["pydantic"])


@pytest.mark.parametrize("kind", PYDANTIC)
def test_what_pydantic_says_is_said_in_both_languages(kind: str) -> None:
    field, value, english, chinese = PYDANTIC[kind]
    is_strict = not kind.startswith("uuid")  # as the fields for ids are
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(field).validate_python(value, strict=is_strict)
    assert [error["type"] for error in caught.value.errors()] == [kind]
    [fault] = invalid(caught.value).errors
    assert fault.message == english
    assert in_chinese(fault.message) == chinese


class _Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def on_get(self, req: Any, resp: Any) -> None:
        raise self._error


def _told(error: Exception, language: str) -> dict[str, Any]:
    app: falcon.App[Any, Any] = falcon.App()
    handle_all(app)
    app.add_route("/", _Raising(error))
    headers = {"Accept-Language": language}
    body: dict[str, Any] = falcon.testing.TestClient(app).simulate_get("/", headers=headers).json
    return body


def test_a_problem_has_its_detail_and_messages_in_the_readers_language() -> None:
    fault = FieldFault(Sentence("line {line}", line=3), Sentence("must be a UUID"))
    error = Refused("INVALID_REQUEST", Sentence("wait cannot be used."), errors=(fault,))
    english, chinese = _told(error, "en"), _told(error, "zh-CN")
    assert (english["detail"], chinese["detail"]) == ("wait cannot be used.", "wait 参数无法使用。")
    assert english["errors"] == [{"field": "line 3", "message": "must be a UUID"}]
    assert chinese["errors"] == [{"field": "line 3", "message": "必须是 UUID"}]


@pytest.mark.parametrize("error", [Refused("NOT_FOUND"), falcon.HTTPNotFound()])
def test_without_a_detail_the_title_is_told_in_the_readers_language(error: Exception) -> None:
    assert _told(error, "en")["detail"] == "There is nothing here"
    assert _told(error, "zh-CN")["detail"] == "未找到"


def test_what_falcon_says_is_known_by_its_words() -> None:
    known = falcon.HTTPInvalidHeader("The value of the header must be a number.", "Content-Length")
    assert _told(known, "zh-CN")["detail"] == "Content-Length 请求头无效：其值必须是数字。"
    unknown = falcon.HTTPBadRequest(description="Something {else}.")
    assert _told(unknown, "zh-CN")["detail"] == "Something {else}."
