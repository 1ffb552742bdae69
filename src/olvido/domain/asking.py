"""Whether a question asks for whatever there is of a time, and names no topic: "¿Qué pasó?", "tell me everything".

Anything that may be a topic makes it another question: what happened then would otherwise come back as a match for a
question that it has nothing to do with. For folded text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from olvido.domain.date_ranges import MARK
from olvido.domain.stop_words import ANY_STOP_WORD, STOP_WORDS
from olvido.domain.time_words import MONTHS

_ASKING = """
    what whats whatever anything everything something remember recall new news
    happen happens happened happening occur occurs occurred occurring

    que algo todo novedad novedades noticia noticias nuevo nueva recuerdas recuerda
    pasar pasa pasan paso pasaron pasando ocurrir ocurre ocurrio ocurrieron suceder sucede sucedio sucedieron

    tudo novidade novidades novo nova lembra lembras acontecer acontece aconteceu aconteceram acontecia ocorrer ocorre
    ocorreu ocorreram sucedeu passar passou passaram rolou
"""
_ASKING_WORDS = frozenset(_ASKING.split())
"""With one of these a question without a topic asks for whatever there is."""

_SAYING = """
    say says said saying tell tells told talk talks talked talking discuss discussed mention mentioned know knows knew
    recorded noted thing things please time until

    dije dijiste dijo dijimos dijeron dicho decir dime hable hablo hablamos hablaron conte contamos sabes saber
    recordar cosa cosas hicimos hicieron hiciste

    disse disseste dissemos disseram dito dizer diga diz falei falou falamos falaram contei contou contaram sabe lembre
    lembrar coisa coisas fiz fizemos fizeram fizeste
"""
_NO_TOPIC = _ASKING_WORDS | frozenset(_SAYING.split())

_BARE = """
    on in at of from for and or to all the en em no na nos nas a de do da del el la los las o os as y e al ao
"""
_JOINING = frozenset(_BARE.split())
"""What may stand beside a date that is the whole question: "and in March?"."""

_POLITE = "please|por favor|can|could|would|will|you|puedes|podrias|pode|poderia|i want you to|qu(?:ier|er)o que"
_FORGET = "forget|delete|erase|olvid[aeo]s?|olvidar|borr[ae]s?|borrar|esque[cs]e|esquecas?|esquecer|apag(?:a|ar|ues?)"
_GIVE = "show|give|find|list|summari[sz]e|muestra|muestrame|lista|busca|da|dame|mostr[ae]|mostrar|liste"
_WHATEVER = "everything|anything|all|what|whatever|todo|tudo|o que|lo que"
_SUMMARY = "(?:give me |dame )?(?:a |the |un |um |o |el )?(?:summary|resumen|resumo)"
_COMMAND = re.compile(
    rf"\W*(?:(?:{_POLITE})\W+)*(?:(?:{_FORGET})\b|(?:me )?(?:{_GIVE})[ -](?:me )?(?=(?:{_WHATEVER})\b)"
    rf"|{_SUMMARY} (?=(?:of|de|do|da|del)\b))"
)
"""Only at the beginning: "What did you delete?" is about deleting."""

_ASKS_TO_TELL = re.compile(
    r"\b(?:tell (?:me|us)|cuentame|me cuentas?|me contas?|me conte|conte-me|what(?:s| is) going on)\b"
)
_UNIT_BESIDE_DATE = re.compile(
    r"\b(?:days?|weeks?|weekends?|months?|years?|dias?|semanas?|mes(?:es)?|anos?)"
    rf"(?=(?: (?:of|de|do|da|del|before|after|around|until|antes|depois|despues)){{0,2}} *{MARK})"
)

_PREPOSITION = "at|in|by|near|around|towards?|a|en|em|no|ao|al|hacia|por"
_RANGE = "since|from|until|before|after|desde|hasta|ate"
_PART = (
    "(?:end|start|beginning|middle) of|"
    "(?:final(?:es)?|fin(?:es)?|fim|principios?|inicios?|mediados|meados|comecos?) d(?:e|o|el|a)"
)
_WHOLE = rf"(?:{'|'.join(MONTHS)}|month|year|week|mes|ano|semana|(?:19|20)\d\d)\b"
_PART_OF = re.compile(
    rf"\b(?:(?:(?:{_PREPOSITION})|(?P<range>{_RANGE})) (?:(?:the|el|o) )?(?:very )?(?:{_PART})|(?:early|late|mid))"
    rf" (?=(?:the |this |last |next |este |esta )?{_WHOLE})"
)
_LAST_OF = re.compile(rf"\b(?:last|ultim[oa]) (?:week|weekend|semana) (?=(?:of|de) (?:{'|'.join(MONTHS)})\b)")
_WEEKEND = re.compile(r"\b(?:fi(?:ne?|m)(?P<many>s?)[ -]de[ -]semana|finde)\b")


def whole_months(text: str) -> str:
    """The same without parts of months and years, which dates do not tell apart: "at the end of", "a principios de".

    A "fin de semana" is no part of a week: it becomes a weekend.
    """
    text = _WEEKEND.sub(lambda match: f"weekend{match['many'] or ''}", text)
    return _PART_OF.sub(lambda match: f"{match['range'] or 'in'} ", _LAST_OF.sub("", text))


def asks_for_whatever(text: str) -> bool:
    """Whether `text`, in which each date is a mark, has no word for a topic, and asks for something or is all dates."""
    command = _COMMAND.match(text)
    rest = text[command.end() :] if command else text
    words = words_of(_UNIT_BESIDE_DATE.sub(" ", _ASKS_TO_TELL.sub(" what ", rest)))
    english = is_english(words)
    if english is None:
        known: Collection[str] = ANY_STOP_WORD
    else:
        known = STOP_WORDS["en"] if english else _OTHERS
    if not all(word in known or word in _NO_TOPIC for word in words):
        return False
    return not _ASKING_WORDS.isdisjoint(words) or _JOINING.issuperset(words)


def words_of(text: str) -> list[str]:
    """The words of `text` in order."""
    return _WORD.findall(text)


def is_english(words: Iterable[str]) -> bool | None:
    """Whether more small words are English than Spanish or Portuguese; None if there are as many."""
    found = list(words)
    english, others = sum(map(STOP_WORDS["en"].__contains__, found)), sum(map(_OTHERS.__contains__, found))
    return None if english == others else english > others


_WORD = re.compile(r"\w+")
_OTHERS = STOP_WORDS["es"] | STOP_WORDS["pt"]
