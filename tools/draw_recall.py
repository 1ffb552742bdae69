"""Draw docs/recall.svg anew: one question, and what the score of each episode is made of.

The episodes are remembered and the question is asked through the public interface; a test draws again and compares.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import olvido
from olvido.testing import ManualClock

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "recall.svg"
QUESTION = "When did the lookup of my enrolment fail in June?"
NOW = datetime(2026, 7, 1, tzinfo=UTC)

TOLD = (
    ("at1", "2026-06-02", "lookup-failed", "crm.lookup", "The enrolment could not be looked up, error E-503."),
    ("at1", "2026-06-01", "reported", "chat", "I cannot reach my statistics course since I changed my address."),
    ("at1", "2026-06-05", "resolved", "agent", "The account was linked again and the course page opened."),
    ("at2", "2026-03-11", "lookup-failed", "crm.lookup", "The lookup of another class failed."),
    ("at3", "2026-06-03", "reported", "chat", "The invoice shows the wrong street."),
    ("at4", "2026-05-20", "reported", "chat", "Asked for the price of a larger storage plan."),
)
"""Case, day, status, source and summary of each episode."""

CAPTION = "Each bar is one episode; its pieces add up to the score. Faded: a weak match."

COLOURS = {
    "text": "#1f6f8b",
    "meaning": "#5fb0b7",
    "identifier": "#8d6cab",
    "session": "#e0a458",
    "date": "#c8553d",
    "when": "#7a9e4d",
    "speaker": "#4a4e69",
    "recency": "#b8b8b8",
    "priority": "#6b705c",
    "reliability": "#d9d9d9",
}
WIDTH, LEFT, TOP, ROW, SCALE = 860, 300, 78, 46, 460


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One episode of the picture. parts: what adds up to its score, by name, without those that add nothing."""

    title: str
    detail: str
    is_match: bool
    score: float
    parts: dict[str, float]


async def bars() -> list[Bar]:
    """The answer to QUESTION, best first, in a new store."""
    clock = ManualClock(NOW)
    policy = olvido.default_policy()
    weights = {"text": policy.ranking.text, "meaning": policy.ranking.meaning}
    with tempfile.TemporaryDirectory(prefix="olvido-picture-") as home:
        async with olvido.open(Path(home) / "store", clock=clock, policy=policy) as memory:
            ana = memory.scope(tenant="acme", subject="ana")
            for case_id, day, status, source, summary in TOLD:
                happened = datetime.fromisoformat(day).replace(hour=10, tzinfo=UTC)
                await ana.record_episode(
                    "support-case",
                    event_id=f"{case_id}-{day}",
                    case_id=case_id,
                    status=status,
                    fields={"summary": summary},
                    occurred_at=happened,
                    origin=olvido.Origin.observed(source),
                )
            recalled = await ana.recall(QUESTION, explain=True)
    return [_bar(item, weights) for item in recalled.items]


def _bar(item: olvido.RecallItem[olvido.Episode], weights: dict[str, float]) -> Bar:
    parts = asdict(item.parts) if item.parts is not None else {}
    values = {
        **{name: parts.get(name, 0.0) for name in COLOURS},
        "text": weights["text"] * (parts.get("lex") or 0),
        "meaning": weights["meaning"] * (parts.get("sem") or 0),
    }
    return Bar(
        title=str(item.record.fields["summary"]),
        detail=f"{item.record.case_id} · {item.record.occurred_at.date()} · {item.record.status}",
        is_match=item.strength is olvido.Strength.MATCH,
        score=item.score,
        parts={name: value for name, value in values.items() if value > 0},
    )


def drawn(answer: list[Bar]) -> str:
    """The picture as SVG."""
    height = TOP + ROW * len(answer) + 64
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" font-size="12">',
        "<style>text { font-family: system-ui, sans-serif; }</style>",
        f"<title>What the scores are made of: {escape(QUESTION)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="30" font-size="17" font-weight="600" fill="#222">{escape(QUESTION)}</text>',
        f'<text x="20" y="52" fill="#666">{CAPTION}</text>',
    ]
    for place, bar in enumerate(answer):
        lines += _row(bar, TOP + ROW * place)
    used = [name for name in COLOURS if any(name in bar.parts for bar in answer)]
    x = 20
    for name in used:
        lines.append(f'<rect x="{x}" y="{height - 36}" width="12" height="12" fill="{COLOURS[name]}"/>')
        lines.append(f'<text x="{x + 17}" y="{height - 26}" fill="#222">{name}</text>')
        x += 34 + 7 * len(name)
    return "\n".join([*lines, "</svg>", ""])


def _row(bar: Bar, y: int) -> list[str]:
    title = bar.title if len(bar.title) <= 44 else f"{bar.title[:43].rstrip()}…"  # noqa: PLR2004 - what fits beside a bar
    lines = [
        f'<text x="20" y="{y + 14}" fill="#222">{escape(title)}</text>',
        f'<text x="20" y="{y + 30}" fill="#666" font-size="11">{escape(bar.detail)}</text>',
    ]
    x = float(LEFT)
    for name, value in bar.parts.items():
        width = value * SCALE
        lines.append(
            f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="22" fill="{COLOURS[name]}" '
            f'opacity="{1 if bar.is_match else 0.45}"><title>{name} {value:.3f}</title></rect>'
        )
        x += width
    lines.append(f'<text x="{x + 8:.1f}" y="{y + 20}" fill="#222">{bar.score:.2f}</text>')
    return lines


def main() -> None:
    """Draw it."""
    PICTURE.write_text(drawn(asyncio.run(bars())), encoding="utf-8")
    print(f"Wrote {PICTURE.name}")


if __name__ == "__main__":
    main()
