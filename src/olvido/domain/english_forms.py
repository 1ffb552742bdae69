"""English words whose forms no ending tells: "When did they pay?" is answered by "they paid"."""

from __future__ import annotations

from collections.abc import Mapping

_FORMS = """
    become became, begin began begun, bend bent, bite bit bitten, blow blew blown, break broke broken,
    bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen, come came, creep crept,
    deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten,
    fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, forbid forbade forbidden,
    forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given,
    go went gone,
    grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led,
    learn learnt, leave left, lend lent, light lit, lose lost, make made, mean meant, meet met,
    mistake mistook mistaken, overcome overcame, pay paid, repay repaid, ride rode ridden, ring rang rung,
    rise risen, run ran, say said, see saw seen, seek sought, sell sold, resell resold, send sent, resend resent,
    sew sewn, shake shook shaken, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
    sleep slept, speak spoke spoken, spend spent, spin spun, stand stood, steal stole stolen, stick stuck,
    swear swore sworn, sweep swept, swim swam swum, take took taken, teach taught, tear tore torn, tell told,
    think thought, throw threw thrown, understand understood, undertake undertook undertaken, wake woke woken,
    wear wore worn, weave wove woven, weep wept, win won, withdraw withdrew withdrawn, write wrote written,
    child children, foot feet, half halves, knife knives, man men, mouse mice, person people,
    shelf shelves, thief thieves, tooth teeth, wife wives, wolf wolves, woman women
"""

BASE_FORMS: Mapping[str, str] = {form: forms[0] for forms in map(str.split, _FORMS.split(",")) for form in forms[1:]}
"""Irregular form to base form. A form that is more often another word ("rose") is absent."""

NOUN_FORMS: Mapping[str, str] = {"leaf": "leaves", "leaves": "leaf", "life": "lives", "lives": "life"}
"""Nouns whose plural is a form of a verb as well ("she lives here"): records keep it as that of the verb, and a
question for either form of the noun looks for the other one too."""
