"""The layout that everything relies on: four folders, one import package, no package named http."""

from __future__ import annotations

import ast
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("models", "engine", "actors", "http")
SOURCES = sorted(
    path
    for top in (*PARTS, "tests")
    for path in (ROOT / top).rglob("*.py")
    if "__pycache__" not in path.parts
)


def test_http_never_has_an_init() -> None:
    assert not (ROOT / "http" / "__init__.py").exists()


@pytest.mark.parametrize("place", [ROOT, ROOT / "http"])
def test_http_client_is_the_standard_librarys_wherever_python_is_started(place: Path) -> None:
    program = "import http.client; print(http.client.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()).parent.parent == Path(ast.__file__).parent


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_imports_a_part_by_its_bare_name(path: Path) -> None:
    assert [name for name in _imported(path) if name.split(".")[0] in PARTS[:3]] == []


def test_a_bare_import_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def late():\n    from engine.errors import ERRORS\n    import models, os\n")
    assert list(_imported(path)) == ["engine.errors", "models", "os"]


@pytest.mark.parametrize("name", [*PARTS, "tests", "bin", "docs"])
def test_the_top_level_is_as_given(name: str) -> None:
    assert (ROOT / name).is_dir()


def test_every_package_is_part_of_the_wheel() -> None:
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    folders = {path.parent.relative_to(ROOT) for path in SOURCES if path.parts[-2] != "tests"}
    packages = {".".join(("aijobs", *f.parts)) for f in folders if f.parts[0] in PARTS}
    assert listed == packages


def test_every_folder_of_tests_is_a_package() -> None:
    """So that two test files may have one name."""
    folders = {path.parent for path in SOURCES if path.is_relative_to(ROOT / "tests")}
    assert [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()] == []


@pytest.mark.parametrize("name", ["setup", "check", "test", "dev", "demo"])
def test_what_a_person_types_can_be_run(name: str) -> None:
    assert (ROOT / "bin" / name).stat().st_mode & 0o111 == 0o111


def _imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.append(node.module)
    return names
