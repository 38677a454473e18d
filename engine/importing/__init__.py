"""Study material as people keep it, turned into knowledge points: all of a file, or a refusal."""

from aijobs.engine.importing.draft import Draft
from aijobs.engine.importing.read import FORMATS, MAX_BYTES, read_points

__all__ = ["FORMATS", "MAX_BYTES", "Draft", "read_points"]
