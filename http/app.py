"""The API as one Falcon application, from its collaborators: no environment is read here."""

from __future__ import annotations

from typing import Any

import falcon
import redis

from aijobs.engine.engine import Engine
from aijobs.engine.signals import Signals
from aijobs.http import (
    admin,
    analyses,
    docs,
    health,
    imports,
    materials,
    metrics,
    model_credentials,
    profiles,
    study_records,
    user_settings,
)
from aijobs.http.jobs import Jobs
from aijobs.http.knowledge_bases import KnowledgeBases, KnowledgePoints
from aijobs.http.middleware import USER_PREFIXES, Authentication, CleanQuery, RequestId
from aijobs.http.problems import handle_all
from aijobs.http.published import Published
from aijobs.http.request_counts import RequestCounts
from aijobs.http.request_meters import CountRequests, RequestMeters
from aijobs.http.throttle import Throttle, rules
from aijobs.http.views import card_view, question_view
from aijobs.models.tables import Flashcard, QuizQuestion


def create_app(engine: Engine, client: redis.Redis) -> falcon.App[Any, Any]:
    """The WSGI application."""
    settings = engine.settings
    meters = RequestMeters()
    throttle = Throttle(rules(settings), RequestCounts(client, meters.count_uncounted))
    counted = CountRequests(meters)
    passed: list[Any] = [counted, RequestId(), CleanQuery(), Authentication(settings), throttle]
    app = falcon.App(middleware=passed)
    app.req_options.strip_url_path_trailing_slash = True
    handle_all(app)
    health.add_routes(app, client, settings.amqp_url)
    metrics.add_routes(app, engine, meters)
    docs.add_routes(app, engine.registry)
    signals = Signals(client)
    jobs = Jobs(engine, signals)  # one for both prefixes: it counts who waits
    for prefix in USER_PREFIXES:
        _add_user_routes(app, prefix, engine, jobs)
    model_credentials.add_routes(app, USER_PREFIXES, engine)
    user_settings.add_routes(app, USER_PREFIXES, engine, signals)
    admin.add_routes(app, engine, signals)
    return app


def _add_user_routes(app: falcon.App[Any, Any], prefix: str, engine: Engine, jobs: Jobs) -> None:
    bases, points = KnowledgeBases(), KnowledgePoints()
    base = f"{prefix}/knowledge-bases"
    app.add_route(f"{prefix}/jobs", jobs)
    app.add_route(f"{prefix}/jobs/{{job_id:uuid}}", jobs, suffix="one")
    app.add_route(f"{prefix}/jobs/{{job_id:uuid}}/cancel", jobs, suffix="cancel")
    app.add_route(f"{prefix}/jobs/{{job_id:uuid}}/result", jobs, suffix="result")
    app.add_route(base, bases)
    app.add_route(f"{base}/{{base_id:uuid}}", bases, suffix="one")
    app.add_route(f"{base}/{{base_id:uuid}}/points", points)
    app.add_route(f"{base}/{{base_id:uuid}}/points/{{point_id:uuid}}", points, suffix="one")
    for module in (analyses, imports, materials, profiles, study_records):
        module.add_routes(app, prefix)
    app.add_route(f"{prefix}/quizzes", Published(QuizQuestion, question_view))
    app.add_route(f"{prefix}/flashcards", Published(Flashcard, card_view))
