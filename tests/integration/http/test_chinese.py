"""Refusals to who reads Chinese: every sentence is in Chinese, and nothing else is other than in
English.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import pytest
import redis

from aijobs.http.chinese import catalog
from tests.integration.http.caller import PREFIX, Caller, administrator
from tests.integration.http.doors import BODIES, INSTEAD, Doors, changed_at, leaves
from tests.integration.http.languages import check_both
from tests.world import World

#: The id of nothing.
NOBODYS = UUID(int=7)


def _refused_in_both(who: Caller, method: str, path: str, **more: Any) -> dict[str, Any]:
    """What is refused in the same way in both languages; the Chinese body."""
    english = replace(who, language="en").ask(method, path, **more)
    chinese = replace(who, language="zh-CN").ask(method, path, **more)
    assert 400 <= english.status_code < 500, english.text
    assert chinese.status_code == english.status_code
    check_both(english.json, chinese.json)
    body: dict[str, Any] = chinese.json
    return body


def test_a_body_that_is_none_is_refused_in_chinese(me: Caller, doors: Doors) -> None:
    for method, path, _ in doors.values():
        for raw in (*(raw for raw, _ in BODIES.values()), b"x" * 1_000_001):
            _refused_in_both(me, method, path, body=raw)
        other = _refused_in_both(me, method, path, body=b"{}", content_type="text/plain")
        assert other["detail"] == "不支持 Content-Type text/plain，请使用 application/json。"


def test_a_value_that_is_wrong_is_told_in_chinese(me: Caller, doors: Doors) -> None:
    values: tuple[Any, ...] = ({}, [[]], True, -1.5, "x" * 250_000)
    others = [json.dumps(value).encode() for value in values]
    for method, path, body in doors.values():
        for place in leaves(body):
            around = json.dumps(changed_at(body, place, "@")).encode()
            for value in (*INSTEAD.values(), *others):
                if value == b"true" or ("preferences" in place and value in others):
                    continue  # may be right there
                _refused_in_both(me, method, path, body=around.replace(b'"@"', value))


def test_a_field_that_is_missing_or_none_of_ours_is_told_in_chinese(
    me: Caller, doors: Doors
) -> None:
    for method, path, body in doors.values():
        refusal = _refused_in_both(me, method, path, json={**body, "unknown": "x"})
        assert refusal["errors"] == [{"field": "unknown", "message": "是不支持的字段"}]
    missing = _refused_in_both(me, "POST", "/knowledge-bases", json={})
    assert missing["detail"] == "部分字段无效。"
    assert missing["errors"] == [{"field": "title", "message": "是必填项"}]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/knowledge-bases", {"title": " "}, "不能为空白"),
        ("/profile", {"locale": "no locale!"}, "格式不符合要求"),
        ("/profile", {"preferences": {"a": {"b": {"c": {"d": {}}}}}}, "对象和列表最多嵌套 4 层"),
        ("/profile", {"preferences": {"a": "x" * 5000}}, "JSON 最多 4096 字节"),
        ("/settings", {"timeZone": "Mars"}, "必须是 IANA 时区，例如 Asia/Shanghai"),
        (
            "/model-credentials",
            {"provider": "openai", "apiKey": "short"},
            "必须是 8 到 512 个可见的 ASCII 字符",
        ),
        (
            "/model-credentials",
            {"provider": "unheard-of", "apiKey": "a-key-of-mine-0001"},
            "使用此服务商时必须给出",
        ),
        (
            "/model-credentials",
            {"provider": "openai", "apiKey": "a-key-of-mine-0001", "baseUrl": "https://a.example"},
            "必须位于以下主机之一：api.deepseek.com、api.openai.com、openrouter.ai",
        ),
    ],
)
def test_a_rule_of_our_own_is_told_in_chinese(
    me: Caller, path: str, body: dict[str, Any], message: str
) -> None:
    method = "PUT" if path in ("/profile", "/settings") else "POST"
    refusal = _refused_in_both(me, method, path, json=body)
    assert [error["message"] for error in refusal["errors"]] == [message]


def test_a_time_of_study_is_refused_in_chinese(me: Caller) -> None:
    for at in ("yesterday", "2026-03-01T09:30:00", "1969-01-01T00:00:00Z"):
        record = {"knowledgePointId": str(uuid4()), "activity": "quiz", "at": at}
        _refused_in_both(me, "POST", "/study-records", json={"records": [record]})
    body = {"records": [{**record, "at": "2026-03-01T09:30:00Z"}]}
    refusal = _refused_in_both(me, "POST", "/study-records", json=body)
    assert refusal["code"] == "TARGET_NOT_FOUND"


def test_a_job_that_cannot_be_is_refused_in_chinese(me: Caller, here: World) -> None:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    job = {"jobType": "quiz_generation", **target}
    unfit: tuple[dict[str, Any], ...] = (
        {"jobType": "horoscope"},
        {"targetType": "material"},
        {"questionCount": 51},
        {"pointIds": [str(uuid4())]},
        {"targetId": me.post("/knowledge-bases", {"title": "Empty"}).json["id"]},
        {"after": [str(uuid4())]},
        {"apiKeyMode": "user_key"},
        {"credentialId": str(uuid4())},
    )
    told = [_refused_in_both(me, "POST", "/jobs", json={**job, **body}) for body in unfit]
    assert len({body["detail"] for body in told}) == len(unfit)
    keys = {"Idempotency-Key": "other"}, {"Idempotency-Key": "x" * 201}
    for headers, body in zip(keys, ({**job, "idempotencyKey": "key"}, job), strict=True):
        _refused_in_both(me, "POST", "/jobs", json=body, headers=headers)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        *(("/jobs", query) for query in ("limit=0", "cursor=x", "status=nope", "targetId=1")),
        ("/jobs", "jobType=%00"),
        ("/quizzes", ""),
        ("/study-records", f"knowledgePointId={NOBODYS}"),
        ("/materials", f"knowledgeBaseId={NOBODYS}"),
        ("/analyses", "knowledgeBaseId=x"),
    ],
)
def test_a_parameter_that_is_wrong_is_told_in_chinese(me: Caller, path: str, query: str) -> None:
    _refused_in_both(me, "GET", path, query_string=query)


def test_a_wait_that_is_too_long_is_refused_in_chinese(me: Caller, here: World) -> None:
    path = f"/jobs/{here.create().id}"
    refusal = _refused_in_both(me, "GET", path, params={"wait": "61"})
    assert refusal["errors"] == [{"field": "wait", "message": "必须是整数秒，最多 60 秒"}]


def test_what_is_not_there_is_told_in_chinese(me: Caller, here: World) -> None:
    for path in (
        *("/nowhere", "/jobs/%00", f"/jobs/{NOBODYS}", f"/knowledge-bases/{NOBODYS}"),
        f"/knowledge-bases/{here.base_id}/points/{NOBODYS}",
        *(f"/materials/{NOBODYS}", f"/model-credentials/{NOBODYS}"),
    ):
        _refused_in_both(me, "GET", path)


@pytest.mark.parametrize(
    ("raw", "kind", "detail"),
    [
        (b"", "text/csv", "第 1 行：文件为空，请选择含有知识点的文件。未保存任何内容。"),
        (b"A,a\n", "text/csv", "第 1 行：没有表头，请在第一行将列命名为 title 和 body"),
        (b"title,body\n", "text/csv", "第 2 行：表头下没有数据行"),
        (b"title,body\n,b\nt,\n", "text/csv", "第 2 行：没有标题，请在此行的 title 列填写内容。"),
        (b'title,body\n"t,b\n', "text/csv", "第 2 行：引号不成对"),
        (b"title,body\na,b,c\n", "text/csv", "第 2 行：此行有 3 个单元格，而表头只有 2 个"),
        (b"title,body,tags,tags\na,b\n", "text/csv", "第 1 行：列 tags 出现了两次"),
        (b"title,body\nt,\xff\n", "text/csv", "第 2 行：文件的第 14 个字节（0xFF）不是 UTF-8"),
        (b"title,body\nt,\x00\n", "text/csv", "第 2 行：第 3 个字符是 U+0000"),
        (b"title,body\n" + b"t" * 301 + b",b\n", "text/csv", "第 2 行：标题有 301 个字符"),
        (b"title,body\nt,b\n", "text/csv; charset=latin-1", "charset：不受支持"),
        (b"text\n", "text/markdown", "第 1 行：没有标题，请让每个知识点以 `## Title`"),
        (b"# A\n\na\n\n# B\n", "text/markdown", "第 5 行：标题下没有正文"),
        (b"# A\n\na\n\n#\n\nb\n", "text/markdown", "第 5 行：标题行没有文字"),
        (b"# A\n\n```\na\n", "text/markdown", "第 3 行：此代码块没有结束"),
        (b"# A\n\n<!-- a\n", "text/markdown", "第 3 行：此注释没有结束"),
    ],
)
def test_a_faulty_line_of_a_file_is_told_in_chinese(
    me: Caller, here: World, raw: bytes, kind: str, detail: str
) -> None:
    path = f"/knowledge-bases/{here.base_id}/import"
    refusal = _refused_in_both(me, "POST", path, body=raw, content_type=kind)
    assert refusal["detail"].startswith(detail)


def test_a_file_of_no_known_kind_is_refused_in_chinese(me: Caller, here: World) -> None:
    path = f"/knowledge-bases/{here.base_id}/import"
    refusal = _refused_in_both(me, "POST", path, json={})
    assert refusal["code"] == "UNSUPPORTED_MEDIA_TYPE"


def test_a_route_and_a_method_that_are_not_there_are_told_in_chinese(me: Caller) -> None:
    assert _refused_in_both(me, "PATCH", "/jobs")["detail"] == "不支持该方法"
    assert _refused_in_both(me, "POST", "/nowhere/at/all")["detail"] == "未找到"


def _unchecked(who: Caller, language: str, name: str, value: str) -> dict[str, Any]:
    """A request with something in its WSGI environment that the test client would not send."""
    headers = {"Authorization": f"Bearer {who.token}", "Accept-Language": language}
    environ = falcon.testing.create_environ(f"{PREFIX}/jobs", method="POST", headers=headers)
    answer = who.client.app({**environ, name: value}, falcon.testing.StartResponseMock())
    body: dict[str, Any] = json.loads(b"".join(answer))
    return body


def test_what_falcon_refuses_in_its_own_words_is_told_in_chinese(me: Caller) -> None:
    told = set()
    for name, value in (
        ("REQUEST_METHOD", "FETCH"),
        ("CONTENT_LENGTH", "many"),
        ("CONTENT_LENGTH", "-1"),
    ):
        english = _unchecked(me, "en", name, value)
        assert english["code"] == "INVALID_REQUEST"
        check_both(english, _unchecked(me, "zh-CN", name, value))
        told.add(english["detail"])
    assert told == set(catalog()["falcon"])


def test_who_may_not_is_told_in_chinese(me: Caller, here: World, redis_client: redis.Redis) -> None:
    reader = administrator(here, redis_client, "ADMIN")
    chief = administrator(here, redis_client)
    told = [
        _refused_in_both(replace(me, token="of-nobody"), "GET", "/jobs"),
        _refused_in_both(replace(reader, token=me.token), "GET", "/circuit"),
        _refused_in_both(reader, "POST", "/circuit", json={"action": "open"}),
        _refused_in_both(chief, "POST", "/circuit", json={"action": "open", "model": "unheard-of"}),
    ]
    codes = ["UNAUTHENTICATED", "FORBIDDEN", "FORBIDDEN", "INVALID_REQUEST"]
    assert [body["code"] for body in told] == codes
