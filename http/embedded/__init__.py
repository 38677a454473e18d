"""The whole system on one machine without an installed server: what `aijobs dev` starts and stops.

Everything that one stack owns lies in its directory; no process of it outlives the next start.
"""
