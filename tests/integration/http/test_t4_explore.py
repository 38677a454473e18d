import base64, json
import pytest
from tests.integration.http.caller import Caller, problem, caller
from uuid import uuid4

def cur(text): return base64.urlsafe_b64encode(text.encode()).decode()

def test_explore(me, here, stranger):
    import structlog
    def show(name, answer):
        print(name, answer.status_code, answer.text[:200])
    show("dup param nul", me._ask("GET", "/jobs", query_string="jobType=a%00&jobType=b%00"))
    show("dup param nul2", me._ask("GET", "/jobs", query_string="jobType=a&jobType=b%00"))
    for c in ["0001-01-01T00:00:00+14:00", "2026-01-01T00:00:00+00:00:00.000001", "2026-01-01T00:00:00+23:59", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00+00:00:01"]:
        show("cursor "+c, me.get("/jobs", cursor=cur(f"{c}|{uuid4()}")))
    job = me.post("/jobs", {"jobType":"quiz_generation","targetType":"knowledge_base","targetId":str(here.base_id)}).json
    show("dup after", me.post("/jobs", {"jobType":"quiz_generation","targetType":"knowledge_base","targetId":str(here.base_id),"after":[job["jobId"]]*2}))
    show("wait", me._ask("GET", f"/jobs/{job['jobId']}", query_string="wait=0000"+"9"*5000))
    show("wait2", me._ask("GET", f"/jobs/{job['jobId']}", query_string="wait=00000"))
    show("job", me.get(f"/jobs/{job['jobId']}"))
    pts = me.get(f"/knowledge-bases/{here.base_id}/points").json["items"]
    for at in ["2026-03-01T09:30:00+23:59", "2026-03-01T09:30:00+00:00:00.000001", "2026-W10-1T09:30Z", "20260301T093000Z"]:
        show("at "+at, me.post("/study-records", {"records":[{"knowledgePointId":pts[0]["id"],"activity":"quiz","at":at}]}))
    show("dup pointIds", me.post("/jobs", {"jobType":"quiz_generation","targetType":"knowledge_base","targetId":str(here.base_id),"pointIds":[pts[0]["id"]]*2}))
    show("empty header key", me.client.simulate_post("/api/ai/jobs", headers={"Authorization":f"Bearer {me.token}","Idempotency-Key":""}, json={"jobType":"quiz_generation","targetType":"knowledge_base","targetId":str(here.base_id)}))
    show("key nul body", me._ask("POST","/jobs", body=b'{"jobType":"quiz_generation","targetType":"knowledge_base","targetId":"%s","idempotencyKey":"a\\u0000"}' % str(here.base_id).encode(), content_type="application/json"))
    show("key hdr latin", me.client.simulate_post("/api/ai/jobs", headers={"Authorization":f"Bearer {me.token}","Idempotency-Key":"caf\u00e9"}, json={"jobType":"quiz_generation","targetType":"knowledge_base","targetId":str(here.base_id)}))
    for raw in [b"", b"null", b"[]", b"NaN", b'{"a":NaN}', b'9'*5000, b'{"priority":'+b'9'*5000+b'}', b'['*20000+b']'*20000, b'{"a":"\\ud800"}', b'{"a":"\\u0000"}', b'\xff', b'{"a":1', b'"x"', b'1', b'true', b'{"a":1,"a":2}', b'{"a":1e999}', b'\xef\xbb\xbf{}']:
        show("raw "+str(raw[:20]), me._ask("POST","/jobs", body=raw, content_type="application/json"))
    show("ct", me._ask("POST","/jobs", body=b"{}", content_type="text/plain"))
    show("form", me._ask("POST","/jobs", body=b"a=1", content_type="application/x-www-form-urlencoded"))
    show("multi", me._ask("POST","/jobs", body=b"a=1", content_type="multipart/form-data; boundary=x"))
    show("options", me._ask("OPTIONS","/jobs"))
    show("patch", me._ask("PATCH","/jobs"))
    a = me._ask("PATCH","/jobs"); print(a.headers)
    show("head", me._ask("HEAD","/jobs"))
    show("path", me.get("/jobs/xyz"))
    show("path2", me.get("/nope"))
    show("path nul", me.get("/jobs/%00"))
    show("slash", me.get("/jobs/"))
    for al in ["zh", "zh;q=0, en", "en;q=0.9, zh; q=0.1", "zh;q=0", "fr, zh-CN;q=0.5", "*", ";;;q=,,", "zh;q=nan, en;q=1"]:
        r = me.client.simulate_get("/api/ai/nope", headers={"Authorization":f"Bearer {me.token}","Accept-Language":al})
        print(al, r.json["title"])
    show("noauth", me.client.simulate_get("/api/ai/jobs"))
    for h in ["Basic x", "Bearer", "Bearer  ", "bearer x", "Bearer a b"]:
        show("auth "+h, me.client.simulate_get("/api/ai/jobs", headers={"Authorization":h}))
    r = me.client.simulate_get("/api/ai/jobs", headers={"Authorization":f"bearer {me.token}"}); show("lower", r)
    from falcon import inspect
    info = inspect.inspect_app(me.client.app)
    for route in info.routes:
        print(route.path, [m.method for m in route.methods if not m.internal])
