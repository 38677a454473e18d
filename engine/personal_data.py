"""What personal data looks like: addresses, keys and the numbers that belong to one person.

Invariant: a pattern meets plain text (ASCII digits and signs), looks at each character a bounded
number of times, and ends where letters and digits end; a checksum decides where there is one,
unless the words before a number say what it is: people mistype their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from aijobs.engine.personal_numbers import (
    account_length,
    card_length,
    dialled_length,
    national_length,
    phone_length,
    resident_id_length,
)

KINDS = ("mail", "phone", "id", "card", "token", "name")


@dataclass(frozen=True, slots=True)
class Rule:
    """A group `before` of the pattern stays. `measure`: how much of the rest goes, 0 for none."""

    kind: str
    pattern: re.Pattern[str]
    measure: Callable[[str], int] = len


_START = r"(?<![A-Za-z0-9_])(?<![0-9]\.)"
_END = r"(?![A-Za-z0-9_])(?!\.[0-9])"

_LETTER = "A-Za-z0-9\u00c0-\u024f"
_ATOM = rf"[{_LETTER}_%+-]"
_MAIL = (
    rf"(?<!{_ATOM})(?<!{_ATOM}[.'])(?:{_ATOM}++(?:[.']{_ATOM}++)*+)"
    rf"@[{_LETTER}-]++(?:\.[{_LETTER}-]++)*\.[A-Za-z\u00c0-\u024f]{{2,63}}(?![A-Za-z0-9_(])"
)
_PARAMETER = (
    r"(?P<before>[?&#;](?:[A-Za-z0-9_-]{0,40}(?:token|api[_-]?key|secret|passw(?:or)?d|signature)"
    r"|sig|auth|pwd|otp|jwt|credential|X-Amz-Credential|phpsessid|[a-z]{0,6}session_?id)=)[A-Za-z0-9._~%+/=$!*:-]*[A-Za-z0-9_~%=/-]"
)
_LONG_KEY_PARAMETER = (
    r"(?P<before>[?&#;](?:key|code|sid|session|ticket)=)(?=[A-Za-z_/-]{0,60}[0-9])"
    r"[A-Za-z0-9_/-]{16,}+"
)
_USER_INFO = r"(?P<before>://)[A-Za-z0-9._~%!$&'()*+,;=:@-]+@"
_KEY = (
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:sk|pk|rk)[-_](?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{16,}+"
    r"|gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[A-Za-z0-9_-]{16,}+"
    r"|hf_[A-Za-z0-9]{20,}+|xox[abeoprs]-[A-Za-z0-9-]{10,}+|AIza[A-Za-z0-9_-]{35}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+(?:\.[A-Za-z0-9_-]*+)?"
    r")(?![A-Za-z0-9_-])"
)
_BEARER = r"(?P<before>(?<![A-Za-z])[Bb]earer )(?=[A-Za-z_.-]{0,60}[0-9])[A-Za-z0-9._~+/-]{16,}+=*+"

_RESIDENT_ID = (
    r"[1-9][0-9]{5}(?P<gap>[ -]?)(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"(?P=gap)[0-9]{3}[0-9Xx]"
)
_SOCIAL_SECURITY = r"(?<![0-9]-)(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?!-[0-9])"
_SAID = r"[ :=#是为]{0,3}"
_ANNOUNCED_ID = (
    r"(?P<before>(?:身份证|证件|(?<![A-Za-z])(?i:id|identity)(?: (?i:card))?)"
    rf"(?:号码?| (?i:number|no\.?))?{_SAID})"
    r"[1-9][0-9]{5}[ -]?(?:[0-9]{8}[ -]?[0-9]{3}[0-9Xx]|[0-9]{6}[ -]?[0-9]{3})"
)
_PASSPORT = (
    rf"(?P<before>(?:护照(?:号码?)?|(?<![A-Za-z])(?i:passport)(?: (?i:number|no\.?))?){_SAID})"
    r"[A-Z]{1,2}[0-9]{7,8}"
)
_ANNOUNCED_CARD = (
    r"(?P<before>(?:卡号|(?:银行|信用|储蓄|借记)卡(?:卡?号码?)?"
    rf"|(?<![A-Za-z])(?i:card (?:number|no\.?)|credit card|visa|mastercard|amex)){_SAID})"
    r"[0-9](?:[ .-]?[0-9]){12,18}"
)
_BANK_ACCOUNT = r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"
_CARD_OF_19 = r"[0-9]{4}(?P<gap>[ .-])(?:[0-9]{4}(?P=gap)){3}[0-9]{3}"
_CARD_IN_GROUPS = (
    r"(?:[0-9]{4}(?P<gap>[ .-])[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{4}"
    r"|[0-9]{4}(?P<other>[ .-])[0-9]{6}(?P=other)[0-9]{4,5}|[0-9]{6}[ -][0-9]{10,13})"
)
_CARD = r"[0-9]{14,19}"
_CHINESE_MOBILE = (
    r"(?:(?:\+|00)?86[ -]?|\((?:\+|00)?86\)[ -]?)?"
    r"1[3-9][0-9](?P<gap>[ -]?)[0-9]{4}(?P=gap)[0-9]{4}"
)
_INTERNATIONAL = r"(?<!\))\+[1-9](?:[ ./-]?\(?[0-9]++\)?){1,9}+"
_DIALLED_ABROAD = r"00[1-9][0-9]{0,2}(?:[ /-]\(?[0-9]++\)?){1,7}+"
_AMERICAN = (
    r"(?<![0-9][.-])(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[.-])[0-9]{3}[ .-][0-9]{4}"
    r"(?![.-][0-9])"
)
_PAIRS = r"0[1-9](?P<gap>[ .-])[0-9]{2}(?:(?P=gap)[0-9]{2}){3}"
_AREA_AND_NUMBER = (
    r"(?:\(0[1-9][0-9]{0,4}\)[ -]?|0[1-9][0-9]{1,4}[ /-])[0-9]{3,8}(?:[ -][0-9]{2,5}){0,3}"
)
_SHORT_AREA = r"0[1-9] [0-9]{3,4} [0-9]{4}"
_NATIONAL_PLAIN = r"0(?:[1-9][0-9]{9}|[67][0-9]{8})"
_ANNOUNCED = (
    r"(?P<before>(?:(?<![A-Za-z])(?i:telephone|tel|phone|mobile|cell|fax|whatsapp"
    r"|call(?: me| us)?)|电话|手机|座机|传真|热线|致电|联系方式)"
    r"(?: ?(?i:number|no\.?)|号码?)?(?: (?:is|at|on)(?= ))?[ :=#.是为]{0,3})"
    r"(?!(?:1[0-9]|20)[0-9]{2}[/-])[0-9](?:[ /-]?[0-9]){6,12}"
)


def _number(kind: str, pattern: str, measure: Callable[[str], int]) -> Rule:
    start = "" if "(?P<before>" in pattern else _START
    return Rule(kind, re.compile(f"{start}{pattern}{_END}"), measure)


#: In this order: what may hold another kind in itself comes first.
RULES = (
    Rule("token", re.compile(_PARAMETER, re.IGNORECASE)),
    Rule("token", re.compile(_LONG_KEY_PARAMETER)),
    Rule("token", re.compile(_USER_INFO), lambda found: len(found) - 1),
    Rule("token", re.compile(_KEY)),
    Rule("token", re.compile(_BEARER)),
    Rule("mail", re.compile(_MAIL)),
    _number("id", _RESIDENT_ID, resident_id_length),
    _number("id", _ANNOUNCED_ID, len),
    _number("id", _PASSPORT, len),
    _number("id", _SOCIAL_SECURITY, len),
    _number("card", _BANK_ACCOUNT, account_length),
    _number("card", _CARD_OF_19, card_length),
    _number("card", _CARD_IN_GROUPS, card_length),
    _number("card", _CARD, card_length),
    _number("card", _ANNOUNCED_CARD, len),
    _number("phone", _CHINESE_MOBILE, phone_length),
    _number("phone", _INTERNATIONAL, dialled_length),
    _number("phone", _DIALLED_ABROAD, dialled_length),
    _number("phone", _AMERICAN, phone_length),
    _number("phone", _PAIRS, phone_length),
    _number("phone", _AREA_AND_NUMBER, national_length),
    _number("phone", _SHORT_AREA, phone_length),
    _number("phone", _NATIONAL_PLAIN, phone_length),
    _number("phone", _ANNOUNCED, phone_length),
)
