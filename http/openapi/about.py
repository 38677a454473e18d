"""What holds for every operation, said once at the head of the document (CommonMark)."""

from __future__ import annotations

DESCRIPTION = """\
A user asks, a model is paid, and the answer arrives once. A job is created with `POST \
/api/ai/jobs`, runs in the background, and leaves artifacts: questions, cards, analyses.

Every request but those of the service itself carries `Authorization: Bearer <JWT>`. The older \
prefix `/ai` answers the same as `/api/ai`.

JSON in and out, in UTF-8, up to 1 MB. Names are camelCase, times ISO 8601 in UTC. A body's \
unknown fields are refused; in answers, expect new fields. A field with nothing to say is left out.

Lists are pages, newest first: send `nextCursor` as `cursor` to get the next page, until it is \
null. Each row comes once, whatever is added meanwhile.

A refusal is `application/problem+json`: `code` is for programs, `title` and `detail` are for \
people, `errors` names the fields at fault. `retryable` says whether the same request may succeed \
later; `Retry-After` says when, where it is known. Requests are limited per user and minute: \
`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` stand in every answer.

`X-Request-Id` is echoed, or made when you send none. `Accept-Language` chooses English or Chinese \
for what people read: `title`, `detail` and the messages in `errors` of a refusal, and what is \
told of a job that waits or has failed."""
