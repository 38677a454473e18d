"""How often somebody may ask: one limit a minute per API and caller, refused and told in headers.

The headers are RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (in seconds from now) of
draft-ietf-httpapi-ratelimit-headers-06, since clients read those; from -07 on the draft puts the
same facts into two structured fields, RateLimit and RateLimit-Policy, that few know. Every counted
request's answer has them, a refusal `Retry-After` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import falcon
from limits import RateLimitItem, RateLimitItemPerMinute

from aijobs.engine.refusal import Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.settings import Settings
from aijobs.http.middleware import ADMIN_PREFIXES, USER_PREFIXES, identity_of, is_below
from aijobs.http.request_counts import RequestCounts, Standing


@dataclass(frozen=True, slots=True)
class Rule:
    """The limit of one API below all of its prefixes. `who` gives an id: Redis holds no more."""

    prefixes: tuple[str, ...]
    limit: RateLimitItem
    who: Callable[[falcon.Request], str]


def rules(settings: Settings) -> Iterator[Rule]:
    """The limits that are set."""
    table = (
        ("user", USER_PREFIXES, settings.user_requests_per_minute, _user),
        ("admin", ADMIN_PREFIXES, settings.admin_requests_per_minute, _user),
    )
    for name, prefixes, per_minute, who in table:
        if per_minute:
            yield Rule(prefixes, RateLimitItemPerMinute(per_minute, namespace=name), who)


class Throttle:
    """Stands behind authentication and before every resource."""

    def __init__(self, rules: Iterable[Rule], counts: RequestCounts) -> None:
        self._rules = tuple(rules)
        self._counts = counts

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        for rule in self._rules:
            if is_below(req, rule.prefixes):
                standing = self._counts.take(rule.limit, rule.who(req))
                if standing is not None:
                    _tell(resp, rule.limit.amount, standing)
                return


def _tell(resp: falcon.Response, limit: int, standing: Standing) -> None:
    seconds = str(standing.reset_seconds)
    resp.set_header("RateLimit-Limit", str(limit))
    resp.set_header("RateLimit-Remaining", str(standing.remaining))
    resp.set_header("RateLimit-Reset", seconds)
    if not standing.granted:
        resp.set_header("Retry-After", seconds)
        told = Sentence(
            "At most {limit} requests a minute: try again in {seconds} s.",
            limit=limit,
            seconds=seconds,
        )
        raise Refused("RATE_LIMITED", told)


def _user(req: falcon.Request) -> str:
    return str(identity_of(req).user_id)
