"""The steps of the state machine about the index: the embedder fails, and a worker repairs what was written then."""

from __future__ import annotations

from hypothesis import note

from tests.contract.acting import Acting
from tests.contract.strategies import HOUR, SCOPES
from tests.contract.support import Scope, Stored


class Mending(Acting):
    """Whether records may be without a vector, and what a repair of them does.

    mended: since when nothing may be, because the embedder has answered ever since.
    """

    mended = True

    def lose_embedder(self, *, fails: bool) -> None:
        """From now on the embedder gives no vector of a record, or gives them again."""
        self.stage.embedder.fails = fails
        self.mended = self.mended and not fails

    def repair(self, *, out: bool, batch: int) -> None:
        """A worker repairs every live record that has no vector, or none of them while the embedder is out."""
        self.model.now += HOUR
        self.stage.clock.set(self.model.now)
        self.later.update(scope for scope in SCOPES if scope[0] not in self.model.closed)
        gaps, before = self._gaps(), self.stage.outside.census()
        note(f"repairing {gaps}, {'out' if out else 'answering'}")
        self.stage.embedder.fails = out
        report = self.stage.run(self.stage.memory.repair_index(batch_size=batch))
        missing = sum(gaps.values())
        assert (report.failed, report.contested, report.limit_reached) == (missing if out else 0, 0, False)
        assert out or report.repaired >= missing
        assert report.waiting == (len(gaps) if out else 0)
        assert self._gaps() == (gaps if out else {})
        assert _without_index(self.stage.outside.census()) == _without_index(before), "a repair changes the index only"
        self.mended = not out
        self.touched.update(SCOPES)

    def _gaps(self) -> dict[Scope, int]:
        """How many live records of each scope have no vector, past all row security."""
        return self.stage.outside.without_vector(self.model.now)


def _without_index(census: dict[Scope, Stored]) -> dict[Scope, dict[str, str]]:
    ours = {"index_entries", "lives", "due"}
    return {
        scope: {name: checksum for name, checksum in stored.checksums.items() if name not in ours}
        for scope, stored in census.items()
    }
