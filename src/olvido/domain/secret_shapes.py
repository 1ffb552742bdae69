"""What secrets look like: the expressions that `redaction` looks for, and the arithmetic of card numbers.

Every expression takes time proportional to the text: repetitions are possessive or bounded, and a match can only start
at a boundary. A group named `value` is the part to mask; without one, the whole match is. Each stands beside its
signs, one of which is in whatever it matches: most texts have none, and looking for these is many times faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Start, end and kind of a secret in a text."""

MASK = "[masked:"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shape:
    """One kind of secret. signs: see above; lower case, of ASCII characters."""

    kind: str
    signs: frozenset[str]
    pattern: re.Pattern[str]


def _shape(kind: str, signs: str, pattern: str) -> _Shape:
    return _Shape(kind=kind, signs=frozenset(signs.split("|")), pattern=re.compile(pattern))


_T = r"[A-Za-z0-9_-]"
_SHAPES = (
    _shape(
        "private_key",
        "private key",
        # Up to the END line; without one, the header and the base64 that follows it.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:(?!-----BEGIN)[\s\S])*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\n)*+[A-Za-z0-9+/=]{16,}+)*+)",
    ),
    _shape("jwt", "eyj", rf"(?<!{_T})eyJ{_T}{{8,}}+\.{_T}++(?:\.{_T}*+){{1,3}}"),
    _shape(
        "url_password",
        "://",
        # Digits up to a slash are a port. A password that is not percent-encoded may hold a slash or an at sign.
        r"(?i)\b[a-z][a-z0-9+.-]{0,30}://[^\s/?#:@]{0,200}:(?!\d{1,5}(?:[/?#\s]|$))"
        r"(?:(?P<value>[^\s/?#\"'<>]{1,256})|[^\s@\"'<>]{1,256})@",
    ),
    _shape(
        "api_key",
        "sk-|sk_|rk_|whsec_|aiza|ya29.|sg.|npm_|hf_|pypi-|glpat-|:",
        rf"(?<!{_T})(?:sk-(?:proj|ant|svcacct|admin|live|test|or-v1)-(?=[A-Za-z_-]{{0,200}}\d){_T}{{4,}}+"
        r"|sk-(?=[A-Za-z_]{0,200}\d)\w{20,}+"
        r"|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+"
        r"|whsec_[A-Za-z0-9+/=]{20,}+"
        rf"|AIza{_T}{{35}}(?!{_T})"
        rf"|ya29\.{_T}{{20,}}+"
        rf"|SG\.{_T}{{16,}}+\.{_T}{{16,}}+"
        r"|(?:npm|hf)_[A-Za-z0-9]{30,}+"
        rf"|pypi-{_T}{{50,}}+"
        rf"|glpat-{_T}{{20,}}+"
        rf"|\d{{8,10}}:{_T}{{35}}(?!{_T}))",
    ),
    _shape(
        "api_key",
        "bearer|basic",
        r"(?i)\b(?:bearer|basic)\s{1,4}(?P<value>(?=[A-Za-z._~+/-]{0,300}\d)[\w.~+/-]{20,}+=*+)",
    ),
    _shape("aws_access_key", "akia|asia", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b(?!-)"),
    _shape(
        "github_token",
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}+|github_pat_\w{22,}+)",
    ),
    _shape("slack_token", "xox|xapp-", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}+"),
    _shape("slack_token", "hooks.slack.com", r"(?i)\bhooks\.slack\.com/services/(?P<value>[A-Z0-9/]{20,}+)"),
)

# The combining forms are for text that is not in NFC.
_LABEL = (
    r"(?i)(?<![^\W_])(?:passwords?|passwd|passphrase|passcode|pwd|senhas?|palavra[ -]passe"
    r"|contrase(?:\u00f1|n\u0303|n)as?|(?<!palabra )claves?)\b"
)
_WHERE = r"(?:\s{1,4}(?:for|of|to|on|do|da|de|del|no|na|para)(?:\s{1,4}\w{1,20}){1,2})?"
_COPULA = r"\s{1,4}(?:is|was|\u00e9|e\u0301|eh|e|foi|era|es|fue)\s{1,4}"
_ASSIGN = r"[\"']?\s{0,4}(?:[:=]|=>)\s{0,4}"
_QUOTED = r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'"
_WITH_DIGIT = r"(?=[^\s\d]{0,100}\d)"
_LABEL_SIGNS = "pass|pwd|senha|contrase|clave"
_LABELLED = (
    # "password: xyz" takes any word; "my password is xyz" and "password xyz" take one that has a digit, since
    # "my password is wrong" is what people write.
    _shape("password", _LABEL_SIGNS, rf"{_LABEL}{_WHERE}{_ASSIGN}(?P<value>{_QUOTED}|\S++)"),
    _shape("password", _LABEL_SIGNS, rf"{_LABEL}{_WHERE}{_COPULA}(?P<value>{_QUOTED}|{_WITH_DIGIT}\S{{4,}}+)"),
    _shape("password", _LABEL_SIGNS, rf"{_LABEL}\s{{1,4}}(?P<value>{_WITH_DIGIT}\S{{4,}}+)"),
    _shape("password", "pin", rf"(?i)\bpin\b(?:{_ASSIGN}|{_COPULA})(?P<value>\d{{4,8}})\b"),
    _shape("card_code", "cvv|cvc", rf"(?i)\b(?:cvv2?|cvc2?)\b(?:{_ASSIGN}|{_COPULA}|\s{{1,4}})(?P<value>\d{{3,4}})\b"),
    _shape(
        "api_key",
        "key|token|secret|api",
        r"(?i)(?<![^\W_])(?:api[ _-]?key|secret(?:[ _-]?access)?[ _-]?key|(?:access|auth|api|refresh)[ _-]?token"
        r"|client[ _-]?secret|chave (?:de|da) api|clave (?:de|del) api)"
        rf"(?:{_ASSIGN}|{_COPULA})(?P<value>{_WITH_DIGIT}(?:{_QUOTED}|\S{{8,}}+))",
    ),
)
_SIGNS = frozenset().union(*(shape.signs for shape in (*_SHAPES, *_LABELLED)))


def _by_mark(signs: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The signs that have each of these marks, which most texts have not; with "" those that have none."""
    found: dict[str, list[str]] = {}
    for sign in sorted(signs):
        found.setdefault(next((mark for mark in "_-.:" if mark in sign), ""), []).append(sign)
    return {mark: tuple(marked) for mark, marked in found.items()}


_BY_MARK = _by_mark(_SIGNS)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")

_HONEST = """
    none null n/a required reset expired changed forgot forgotten lost missing wrong incorrect invalid hidden please
    help not no the my i it is was to how what why when where cannot can't does doesn't and or
    esqueci expirada expirou inv\u00e1lida incorreta errada n\u00e3o por como o a minha qual quando obrigat\u00f3ria
    olvid\u00e9 olvidada caducada caduc\u00f3 incorrecta c\u00f3mo el la mi cu\u00e1l cu\u00e1ndo obligatoria
"""
_HONEST_WORDS = frozenset(_HONEST.split())
"""What follows "password:" in an honest sentence."""

_CARD = re.compile(
    r"(?<!\w)(?<!\d[.,])(?=(\d{14,19}(?!\w)"
    r"|\d{4}([ .\u00a0-])\d{4}\2\d{4}\2\d{4}(?:\2\d{3})?(?!\w)"
    r"|\d{4}([ .\u00a0-])\d{6}\3\d{4,5}(?!\w)))"
)
_EIGHT_DIGITS = re.compile(r"\d{4}[ .\u00a0-]?\d{4}")
"""What every card number begins with; looking for it is many times faster."""
_ISSUERS: Mapping[int, re.Pattern[str]] = {
    14: re.compile(r"3(?:0[0-5]|[689])"),
    15: re.compile(r"3[47]"),
    16: re.compile(r"4|5|2(?:2[2-9]|[3-6]|7[01]|720)|35|6"),
    17: re.compile(r"5|6"),
    18: re.compile(r"5|6"),
    19: re.compile(r"4|5|6"),
}
"""Issuer prefixes by length (ISO/IEC 7812). An IMEI, whose 15 digits pass the same checksum, starts otherwise."""


def may_hold(text: str) -> bool:
    """Whether `text` has what every secret has. Most texts do not, and nothing in them has to be looked for."""
    folded = _folded(text)
    for mark, signs in _BY_MARK.items():
        if mark in folded:
            for sign in signs:
                if sign in folded:
                    return True
    return _EIGHT_DIGITS.search(text) is not None


def spans(text: str) -> Iterator[Span]:
    """Where secrets are in `text`, in any order and possibly overlapping. What is masked already is not a secret."""
    folded = _folded(text)
    signs = {sign for mark, marked in _BY_MARK.items() if mark in folded for sign in marked if sign in folded}
    if signs:
        yield from _shown_by(signs, text)
    if _EIGHT_DIGITS.search(text):
        for match in _CARD.finditer(text):
            if is_card(match[1]):
                yield (*match.span(1), "card_number")


def _shown_by(signs: set[str], text: str) -> Iterator[Span]:
    """The secrets in `text` that have one of `signs`, which are those in it."""
    for shape in _SHAPES:
        if shape.signs.isdisjoint(signs):
            continue
        for match in shape.pattern.finditer(text):
            start, end = match.span("value") if match.groupdict().get("value") else match.span()
            if not text.startswith(MASK, start):
                yield start, end, shape.kind
    for shape in _LABELLED:
        if shape.signs.isdisjoint(signs):
            continue
        for match in shape.pattern.finditer(text):
            start, end = _trimmed(text, *match.span("value"))
            if start < end and not text.startswith(MASK, start) and not _is_honest(text[start:end]):
                yield start, end, shape.kind


_ALIKE = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Letters that `re` takes for an ASCII one when case is ignored, and `lower` does not turn into it."""


def _folded(text: str) -> str:
    """`text` in lower case, as expressions that ignore case see it."""
    if not text.isascii():
        for letter, taken_for in _ALIKE:
            text = text.replace(letter, taken_for)
    return text.lower()


def is_card(shown: str) -> bool:
    """Whether the digits in `shown` are a card number: a length and prefix that issuers use, and a right checksum."""
    digits = "".join(character for character in shown if character.isdecimal())
    issuer = _ISSUERS.get(len(digits))
    return issuer is not None and issuer.match(digits) is not None and _luhn(digits)


def _luhn(digits: str) -> bool:
    """The checksum of ISO/IEC 7812-1, annex B: from the right, every second digit is doubled and its digits summed."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the quotes around a value, or the punctuation of the sentence after it."""
    if text[start] in "\"'" and end - start > 1 and text[end - 1] == text[start]:
        return start + 1, end - 1
    return start, start + len(text[start:end].rstrip(".,;:)]}\"'"))


def _is_honest(value: str) -> bool:
    return value.lower() in _HONEST_WORDS or _DATE.fullmatch(value) is not None
