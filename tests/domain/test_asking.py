"""Questions for whatever there is of a time, and questions that only name a time beside something else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from olvido.domain.question import dates

NOW = datetime(2026, 6, 17, 10, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    "text",
    [
        "What happened in March?",
        "march 2026",
        "March",
        "2026",
        "and in March?",
        "all of March",
        "What did we talk about last week?",
        "What is going on in March?",
        "Do you remember last Tuesday?",
        "Anything new since yesterday?",
        "Anything on 2025-03-15?",
        "What happened last weekend?",
        "What happened the week of 2 June?",
        "What happened the weekend of 6 June?",
        "What happened the last week of March 2026?",
        "What happened from 2 to 4 June?",
        "What happened twenty-five days ago?",
        "What happened at the end of March?",
        "What did I say in early march 2026?",
        "Tell me everything from January to March 2026",
        "What happened from March 2026 onwards?",
        "show me everything since 2 June 2026",
        "everything until 2 June 2026",
        "What happened before March 2026?",
        "Forget what I said on 2 June",
        "Give me a summary of last week",
        "Can you please forget what I told you yesterday?",
        "¿Qué pasó en marzo?",
        "¿Qué pasó a finales de mayo?",
        "¿Qué pasó el fin de semana pasado?",
        "¿Qué pasó este fin de semana?",
        "¿Qué pasó entre los días 2 y 4 de junio?",
        "¿Qué pasó hace quince días?",
        "¿Qué me dijiste ayer?",
        "¿Y ayer?",
        "cuéntame lo de marzo",
        "olvida lo que te dije en marzo",
        "O que aconteceu em março?",
        "O que aconteceu no dia 2 de junho?",
        "O que aconteceu no final de março?",
        "O que aconteceu no fim de semana passado?",
        "O que aconteceu no último fim de semana?",
        "O que aconteceu de 2 a 4 de junho?",
        "O que aconteceu há quinze dias?",
        "O que é que aconteceu a partir de março?",
        "O que aconteceu antes de março?",
        "¿Qué pasó hasta ayer?",
        "O que eu disse entre janeiro e março?",
        "me conta o que aconteceu em março",
        "esquece o que te disse ontem",
        "novidades de ontem",
    ],
)
def test_questions_for_a_date_alone(text: str) -> None:
    """A question that names dates and no topic asks for whatever happened then."""
    steps = dates(text, NOW)
    assert steps is not None
    assert steps.alone


@pytest.mark.parametrize(
    "text",
    [
        "refund March 2026",
        "What did Ana say in March?",
        "What did my son say yesterday?",
        "What happened to the refund in March?",
        "What did you delete in March?",
        "Where am I going in March?",
        "When does it end in March?",
        "the event on 2 June",
        "the March records",
        "the summary that I wrote in March",
        "my notes of March",
        "the list of March",
        "which place in March?",
        "did the update come on 2 June?",
        "what I ate yesterday",
        "ok, see you on Monday",
        "talk to you tomorrow",
        "until tomorrow then",
        "That's all for today",
        "How are you today?",
        "What day is today?",
        "on 2026-06-02 at 10:30",
        "¿Qué pasó con mi pedido en marzo?",
        "¿Qué pasó con mi cuenta en marzo?",
        "¿Qué día es hoy?",
        "una historia de marzo",
        "hasta mañana",
        "O que aconteceu com o reembolso em março?",
        "minha nota de março",
        "conta de março",
        "lista de março",
        "até amanhã",
        "予約 2026-06-02",
    ],
)
def test_questions_for_something_at_a_date(text: str) -> None:
    """A word for a topic, a name, a time of day, a greeting or another script beside the date is something else."""
    steps = dates(text, NOW)
    assert steps is not None
    assert not steps.alone
