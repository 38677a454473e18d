"""Whether a run of digits is a person's number: checksums, card schemes, shapes of lists.

Each function takes what a pattern found and returns how many of its characters belong to the
number: all, some, or 0 when it is something else.
"""

from __future__ import annotations

import re
from itertools import pairwise

_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_RESIDENT_CHECKS = "10X98765432"
#: Diners, Amex, Visa, Mastercard, Discover, JCB, UnionPay, older Chinese debit cards and Maestro.
_CARD_SCHEME = re.compile(
    r"3(?:0[0-5]|[68]\d)\d{11}|3[47]\d{13}|4\d{15}(?:\d{3})?|5[1-5]\d{14}"
    r"|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|6(?:011|4[4-9]\d|5\d\d)\d{12,15}"
    r"|35(?:2[89]|[3-8]\d)\d{12,15}|(?:62|81)\d{14,17}|(?:9558|5[06-9]\d\d|6\d{3})\d{12,15}"
)
_INTERNATIONAL_DIGITS = (8, 15)
_INTERNATIONAL_PLAIN = 10
_NATIONAL_DIGITS = (9, 12)
_ROUND = "000000"


def resident_id_length(found: str) -> int:
    """A resident identity card's number of China, by its checksum (GB 11643-1999)."""
    number = re.sub(r"[ -]", "", found).upper()
    total = sum(int(d) * w for d, w in zip(number, _RESIDENT_WEIGHTS, strict=False))
    return len(found) if _RESIDENT_CHECKS[total % 11] == number[-1] else 0


def card_length(found: str) -> int:
    """A payment card's number: a scheme's prefix and length, and Luhn's checksum."""
    number = "".join(_groups(found))
    return len(found) if _CARD_SCHEME.fullmatch(number) and _luhn(number) else 0


def account_length(found: str) -> int:
    """A bank account's number by its checksum (ISO 13616): as many groups as make one number."""
    ends = [match.end() for match in re.finditer(r"[A-Z0-9]+", found)]
    return next((end for end in reversed(ends) if _is_account(found[:end].replace(" ", ""))), 0)


def _is_account(number: str) -> bool:
    turned = number[4:] + number[:4]
    digits = "".join(str(int(character, 36)) for character in turned)
    return len(number) in range(15, 35) and int(digits) % 97 == 1


def phone_length(found: str) -> int:
    """A phone number by its shape, unless it is a list of numbers, a round number or an ISBN."""
    return 0 if _is_other(found) else len(found)


def dialled_length(found: str) -> int:
    """A number with + or 00 and a country's code: as many groups as make one number."""
    digits = "".join(_groups(found))
    if digits == found.lstrip("+") and len(digits) < _INTERNATIONAL_PLAIN:
        return 0
    if found.count(".") == 1 and not re.search(r"[ /()-]", found):  # a decimal number
        return 0
    prefix = 2 if found.startswith("00") else 0
    low, high = _INTERNATIONAL_DIGITS
    return _shortened(found, low + prefix, high + prefix)


def national_length(found: str) -> int:
    """An area's code and a number: as many groups as make one number."""
    return _shortened(found, *_NATIONAL_DIGITS)


def _shortened(found: str, low: int, high: int) -> int:
    """The longest beginning of whole groups with `low` to `high` digits."""
    ends = [match.end() for match in re.finditer(r"[0-9]+\)?", found)]
    for end in reversed(ends):
        if found.count(")", 0, end) > found.count("(", 0, end):  # it closes what stands around
            end -= 1
        if low <= len("".join(_groups(found[:end]))) <= high:
            return phone_length(found[:end])
    return 0


def _groups(text: str) -> list[str]:
    return re.findall(r"[0-9]+", text)


def _luhn(number: str) -> bool:
    doubled = (int(digit) * 2 for digit in number[-2::-2])
    return (sum(map(int, number[-1::-2])) + sum(d // 10 + d % 10 for d in doubled)) % 10 == 0


def _is_other(found: str) -> bool:
    groups = _groups(found)
    digits = "".join(groups)
    return (
        set(digits) <= {"0", "1"}
        or digits.endswith(_ROUND)
        or _is_list(groups)
        or (len(found) == 10 == len(digits) and _is_isbn(digits))
    )


def _is_list(groups: list[str]) -> bool:
    """Numbers in equal steps, or round ones, in a row."""
    if len(groups) < 3:
        return False
    steps = {int(later) - int(earlier) for earlier, later in pairwise(groups)}
    return len(steps) == 1 or all(group.endswith("0") for group in groups)


def _is_isbn(digits: str) -> bool:
    return sum(int(digit) * (10 - at) for at, digit in enumerate(digits)) % 11 == 0
