"""The sentences around study statistics, in the two languages of the material."""

from __future__ import annotations

from abc import ABC, abstractmethod

from aijobs.engine.offline.material import Material, Studied


class StudyWording(ABC):
    """What is said of numbers; a percentage is rounded to whole ones."""

    never_tested: str

    @abstractmethod
    def evidence(self, study: Studied) -> str:
        """The numbers of one tested item."""

    @abstractmethod
    def summary(
        self, *, tested: int, points: int, attempts: int, mean: float, strongest: str, weakest: str
    ) -> str:
        """The numbers of all of them."""

    @abstractmethod
    def untested(self, material: Material) -> str:
        """When there are no numbers."""

    @abstractmethod
    def action(self, title: str, *, weak: bool, never: bool) -> str:
        """What to do about an item."""


class _English(StudyWording):
    never_tested = "It has never been tested."
    never_one = "The one point has not been tested yet."

    def evidence(self, study: Studied) -> str:
        seen = f", last on {study.last_seen[:10]}" if study.last_seen else ""
        return f"{_percent(study.accuracy)} right in {_some(study.attempts, 'attempt')}{seen}."

    def summary(
        self, *, tested: int, points: int, attempts: int, mean: float, strongest: str, weakest: str
    ) -> str:
        have = "has" if tested == 1 else "have"
        return (
            f"{tested} of {_some(points, 'point')} {have} been tested, "
            f"in {_some(attempts, 'attempt')}. {_percent(mean)} of the answers were right. "
            f"The steadiest point is “{strongest}”, the weakest is “{weakest}”."
        )

    def untested(self, material: Material) -> str:
        count = len(material.items)
        return f"None of {count} points has been tested yet." if count > 1 else self.never_one

    def action(self, title: str, *, weak: bool, never: bool) -> str:
        if never:
            return f"Study “{title}” and test yourself once"
        return f"Practise “{title}” again" if weak else f"Refresh “{title}”"


class _Chinese(StudyWording):
    never_tested = "尚未测试过。"

    def evidence(self, study: Studied) -> str:
        seen = f"，最近一次在 {study.last_seen[:10]}" if study.last_seen else ""
        return f"{study.attempts} 次作答中正确率为 {_percent(study.accuracy)}{seen}。"

    def summary(
        self, *, tested: int, points: int, attempts: int, mean: float, strongest: str, weakest: str
    ) -> str:
        return (
            f"{points} 个知识点中已测试 {tested} 个，共作答 {attempts} 次，"
            f"正确率为 {_percent(mean)}。掌握最好的是“{strongest}”，最薄弱的是“{weakest}”。"
        )

    def untested(self, material: Material) -> str:
        return f"{len(material.items)} 个知识点都还没有测试过。"

    def action(self, title: str, *, weak: bool, never: bool) -> str:
        if never:
            return f"学习“{title}”并自测一次"
        return f"再次练习“{title}”" if weak else f"复习“{title}”"


def study_wording(material: Material) -> StudyWording:
    """In the language that most of the material is written in."""
    chinese = sum(item.is_chinese for item in material.items)
    return _Chinese() if chinese * 2 > len(material.items) else _English()


def _some(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _percent(share: float | None) -> str:
    return f"{round(100 * (share or 0.0))} %"
