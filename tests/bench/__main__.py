"""`bin/bench`: the pipeline, then the peers, on one machine in one run; ratios matter, not the
absolute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from tests.bench import http, pipeline
from tests.bench.cost import cost_per_job
from tests.servers import OwnPostgres, OwnValkey

_ROOT = Path(__file__).parents[2]
_PEER_PYTHON = _ROOT / ".venv-peers" / "bin" / "python"
_OPTIONS = {"max_connections": "200", "shared_preload_libraries": "pg_stat_statements"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option("--jobs", default=1000, show_default=True, help="Jobs of each throughput run.")
def main(as_json: bool, jobs: int) -> None:
    """Measure jobs/s, idle latency, statements and commits per job, creates per second."""
    figures = _figures(jobs)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        for name, figure in figures.items():
            click.echo(f"{name:<22} {figure}")


def _figures(jobs: int) -> dict[str, Any]:
    ours = _on_servers(lambda db, kv: pipeline.measure(db, kv, jobs))
    cost = _on_servers(lambda db, kv: cost_per_job(db, kv))
    created = _on_servers(lambda db, kv: http.creates_per_second(db, kv))
    dramatiq = _on_servers(lambda db, kv: _peer("bare_dramatiq", sys.executable, db, kv, jobs))
    peer = _on_servers(
        lambda db, kv: _peer("durable_procrastinate", str(_PEER_PYTHON), db, kv, jobs)
    )
    return {
        **ours,
        **cost,
        "http_creates_per_s": created,
        "dramatiq": dramatiq,
        "peer": {"name": "procrastinate", **peer},
        "vs_dramatiq": round(ours["jobs_per_s"] / dramatiq["jobs_per_s"], 2),
        "vs_peer": round(ours["jobs_per_s"] / peer["jobs_per_s"], 2),
    }


def _on_servers(measured: Any) -> Any:
    """A fresh PostgreSQL and Valkey for one measurement."""
    with tempfile.TemporaryDirectory(prefix="aijobs-bench-") as folder:
        postgres = OwnPostgres(Path(folder), _OPTIONS)
        valkey = OwnValkey(Path(folder))
        postgres.start()
        valkey.start()
        try:
            return measured(postgres.url, valkey.url)
        finally:
            valkey.stop()
            postgres.stop()


def _peer(name: str, python: str, database_url: str, redis_url: str, jobs: int) -> Any:
    environ = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url}
    command = [python, "-m", f"tests.bench.peers.{name}", str(jobs)]
    done = subprocess.run(
        command, cwd=_ROOT, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise click.ClickException(f"{name} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
