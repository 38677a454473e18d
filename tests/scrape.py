"""/metrics as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Scrape:
    """One answer of /metrics."""

    text: str

    @cached_property
    def families(self) -> list[Metric]:
        """As the official parser reads them."""
        return list(text_string_to_metric_families(self.text))

    def samples(self, name: str) -> Iterator[Sample]:
        """Every sample of this name."""
        for family in self.families:
            yield from (sample for sample in family.samples if sample.name == name)

    def value(self, sample_name: str, /, **labels: str) -> float | None:
        """The sum of the samples that have these labels among theirs; None when there is none."""
        found = [
            sample.value
            for sample in self.samples(sample_name)
            if labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None


def scrape(url: str) -> Scrape:
    """Ask over a connection of its own, so that any process of the server may answer."""
    answer = httpx.get(f"{url}/metrics", timeout=30, trust_env=False)
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(answer.text)
