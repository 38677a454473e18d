"""The few fixed phrases around source text, in the two languages of the material.

Invariant: a phrase says that the notes decide, so a question asks what they say and nothing beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

from aijobs.engine.offline.material import Item


@dataclass(frozen=True, slots=True)
class Wording:
    """`{title}` and `{text}` are filled in by whoever asks."""

    term: str
    number: str
    heading: str
    statement: str
    claim: str
    membership: str
    true: str
    false: str
    explanation: str
    explain: str
    which_point: str
    complete: str
    subject: str

    def truth(self, is_true: bool) -> str:
        return self.true if is_true else self.false


_ENGLISH = Wording(
    term="According to the notes, which term completes the sentence? “{text}”",
    number="According to the notes on “{title}”, which number completes the sentence? “{text}”",
    heading="Which topic do the notes describe with this sentence? “{text}”",
    statement="Which of these statements do the notes make about “{title}”?",
    claim="True or false, according to the notes on “{title}”: “{text}”",
    membership="True or false: “{title}” is one of the topics of “{text}”.",
    true="True",
    false="False",
    explanation="The notes on “{title}” say: “{text}”",
    explain="What do the notes say about “{title}”?",
    which_point="Which topic is this? “{text}”",
    complete="{title}: fill the gap. “{text}”",
    subject="“{title}” is a topic of which subject?",
)
_CHINESE = Wording(
    term="根据笔记，下面句子的空格处应填哪个术语？“{text}”",
    number="根据笔记中关于“{title}”的内容，空格处应填哪个数字？“{text}”",
    heading="笔记中的这句话描述的是哪个知识点？“{text}”",
    statement="下列哪一项是笔记中关于“{title}”的说法？",
    claim="根据笔记中关于“{title}”的内容，判断正误：“{text}”",
    membership="判断正误：“{title}”是“{text}”中的一个知识点。",
    true="正确",
    false="错误",
    explanation="笔记中关于“{title}”写道：“{text}”",
    explain="关于“{title}”，笔记是怎么说的？",
    which_point="这句话说的是哪个知识点？“{text}”",
    complete="{title}：填空。“{text}”",
    subject="“{title}”属于哪个主题？",
)


def wording_for(item: Item) -> Wording:
    """In the language that the item is written in."""
    return _CHINESE if item.is_chinese else _ENGLISH
