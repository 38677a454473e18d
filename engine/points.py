"""How much a knowledge point holds, in characters; whoever makes points keeps to it."""

TITLE_LENGTH = 300
BODY_LENGTH = 20_000
TAG_LENGTH = 60
TAGS = 20
