"""The same work done by what a user would take instead, each in a process of its own."""
