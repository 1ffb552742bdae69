"""The benchmark of recall reads a file, asks through the public API and prints one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import recall
from bench.asking import Answers, Asked, episode_of, renamed, told_apart
from bench.conversations import Question, Turn, UnreadableFile, read
from bench.relevance import Ranking
from olvido.domain.policy_document import Ranking as Weights
from tests.places import server_directory

INVENTED = Path(__file__).with_name("conversations.jsonl")
NOTHING_GETS_THROUGH = ("--set", "ranking.omit_below=1", "--set", "ranking.weak_below=1")

BARE = '{"turns": [{"id": "1"}], "questions": []}'
LOCAL = (
    '{"turns": [{"id": "1", "session": 1, "at": "2025-01-01T10:00:00", "speaker": "A", "text": "x"}], "questions": []}'
)
SILENT = LOCAL.replace(':00"', ':00Z"').replace('"x"', '" "')


def test_it_asks_every_question_and_prints_one_json_object(capfd: pytest.CaptureFixture[str]) -> None:
    """Two invented conversations: what is asked is found, per category, and every part of a recall took its time."""
    assert recall.main([str(INVENTED)]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out.splitlines()[-1])
    counts = {name: found[name]["questions"] for name in ("1-4", "1", "2", "3", "4", "5")}
    assert counts == {"1-4": 6, "1": 1, "2": 2, "3": 1, "4": 2, "5": 1}
    # Six turns and four: all of the evidence is among the first ten once no floor hides any.
    assert found["floors_off"]["1-4"]["recall@10"] == 1
    assert found["4"]["mrr"] == found["4"]["hit@10"] == 1
    assert found["nothing_relevant"]["asked"] == 6
    assert set(found["per_conversation"]) == {"0", "1"}
    assert {"embedding", "analysis", "database", "ranking", "total"} == set(found["latency_ms"])
    assert all(part["median"] > 0 for part in found["latency_ms"].values())
    assert found["evidence_unknown"] == found["questions_without_evidence"] == 0
    assert "remembering" in printed.err


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the database server can be let into."""
    with server_directory() as directory:
        yield directory


def test_a_filled_directory_is_used_again_and_settings_change_the_ranking(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With --keep nothing is remembered twice, --set reaches the ranking, and only what is chosen is asked."""
    chosen = [str(INVENTED), "--conversations", "1", "--keep", str(place / "kept")]
    assert recall.main(chosen) == 0
    capfd.readouterr()
    assert recall.main([*chosen, "--limit-questions", "1", *NOTHING_GETS_THROUGH]) == 0
    printed = capfd.readouterr()
    assert "remembering" not in printed.err
    found = json.loads(printed.out.splitlines()[-1])
    assert (found["1-4"]["questions"], found["1-4"]["recall@20"]) == (1, 0)
    assert found["floors_off"]["1-4"]["recall@20"] == 1
    assert found["nothing_relevant"] is None
    with pytest.raises(SystemExit):
        recall.main([str(INVENTED), "--keep", str(place / "kept")])
    assert "holds something else" in capfd.readouterr().err


def test_support_cases_are_asked_for_by_their_own_customers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--support alone prints its own measures, and takes no file."""

    async def measured(_: Path) -> dict[str, object]:
        return {"hit@3": 1.0}

    monkeypatch.setattr("bench.support.measure", measured)
    assert recall.main(["--support"]) == 0
    assert json.loads(capsys.readouterr().out) == {"support": {"hit@3": 1.0}}


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("{", "file.jsonl:2: Invalid JSON"),
        ('{"turns": [], "questions": []}', "file.jsonl:2: turns: "),
        (BARE, "file.jsonl:2: turns.0.speaker: Field required"),
        (LOCAL, "file.jsonl:2: turns.0.at: Input should have timezone info"),
        (SILENT, "file.jsonl:2: turns.0: text and caption are both blank"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, complaint: str) -> None:
    """The number of the line, the place in it and what is wrong; the exit code is 2."""
    path = tmp_path / "file.jsonl"
    path.write_text(f"{INVENTED.read_text(encoding='utf-8').splitlines()[0]}\n{line}\n", encoding="utf-8")
    with pytest.raises(SystemExit) as exit_:
        recall.main([str(path)])
    assert exit_.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_turn_that_comes_twice_and_a_file_without_conversations_are_refused(tmp_path: Path) -> None:
    """Turns are told apart by their ids, and a measure of nothing means nothing."""
    first = json.loads(INVENTED.read_text(encoding="utf-8").splitlines()[0])
    first["turns"].append(first["turns"][0])
    path = tmp_path / "file.jsonl"
    path.write_text(json.dumps(first), encoding="utf-8")
    with pytest.raises(UnreadableFile, match=r"file\.jsonl:1: two turns have the same id"):
        read(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="no conversation"):
        read(path)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        read(tmp_path / "missing.jsonl")


@pytest.mark.parametrize(
    "options, complaint",
    [
        ([], "name a file"),
        ([str(INVENTED), "--conversations", "2"], "from 0 to 1"),
        ([str(INVENTED), "--set", "ranking.text"], "a key and a value"),
        ([str(INVENTED), "--set", "ranking.tekst=1"], "did you mean `text`"),
    ],
)
def test_an_option_that_cannot_be_is_explained(
    capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    """Before anything slow is done, with exit code 2."""
    with pytest.raises(SystemExit) as exit_:
        recall.main(options)
    assert exit_.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_turn_is_remembered_as_it_was_said() -> None:
    """Text and caption are fields of their own, who said it is its actor, and its session is its case."""
    turn = Turn.model_validate(
        {
            "id": "D1:2",
            "session": 1,
            "at": "2025-03-04T10:00:00Z",
            "speaker": "Ana",
            "text": "Look!",
            "caption": "a cat",
        }
    )
    told = episode_of(turn)
    assert told.fields == {"text": "Look!", "caption": "a cat"}
    assert (told.event_id, told.case_id, told.occurred_at) == ("D1:2", "session-1", turn.at)
    assert told.origin is not None
    assert (told.origin.actor, told.origin.origin_class) == ("Ana", "declared")


def test_names_are_swapped_as_whole_words_and_all_at_once() -> None:
    """Jon and Joanna change places with Joanna and Rui; Jonathan is somebody else."""
    asked = "Did Jon tell Jonathan of Joanna's cat?"
    assert renamed(asked, ["Jon", "Joanna"], ["Joanna", "Rui"]) == "Did Joanna tell Jonathan of Rui's cat?"
    assert renamed(asked, [], ["Rui"]) == asked


def answered(*, best: float, weak: bool, found: tuple[str, ...] = ("a",)) -> Asked:
    """An answer to some answerable question."""
    question = Question(question="?", category=4, evidence=("a",))
    ranking = Ranking(evidence=frozenset({"a"}), found=found)
    return Asked(question=question, ranking=ranking, best=best, weak=weak)


def test_questions_of_another_conversation_are_told_apart_by_floors() -> None:
    """Refused and weak are shares of what was asked; the other floor leaves 97 of 100 answerable questions."""
    match, weak = answered(best=0.4, weak=False), answered(best=0.2, weak=True)
    refused = answered(best=0.0, weak=True, found=())
    own = Answers(
        shipped=[match, match, match, weak],
        floorless=[answered(best=0.3 + number / 1000, weak=False) for number in range(100)],
    )
    foreign = Answers(
        shipped=[match, weak, refused, refused],
        floorless=[answered(best=best, weak=False) for best in (0.1, 0.302, 0.303, 0.5)],
    )
    assert told_apart(Weights(omit_below=0.15, weak_below=0.22), own, foreign) == {
        "asked": 4,
        "floors_as_shipped": {
            "omit_below": 0.15,
            "weak_below": 0.22,
            "refused": 0.5,
            "refused_or_weak": 0.75,
            "answerable_refused": 0.0,
            "answerable_refused_or_weak": 0.25,
        },
        "floor_that_loses_3_percent": {"floor": 0.303, "under": 0.5, "answerable_under": 0.03},
    }
