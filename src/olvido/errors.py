"""Every error Olvido raises.

    OlvidoError
    ├── InvalidInput            the call itself is malformed; nothing was stored
    │   ├── InvalidScope        a tenant, subject or other id is empty, blank, over-long or not text
    │   ├── InvalidValue        a value does not fit the shape the policy gives it
    │   ├── InvalidTime         a naive datetime, or an expiry outside what the policy allows
    │   ├── InvalidCursor       a page cursor that this list did not hand out
    │   ├── InvalidPolicy       a policy file that contradicts itself or has unknown keys
    │   └── InvalidReceipt      a receipt that nobody with these keys signed, or not as it is now
    ├── Refused                 the call is well formed and the rules say no
    │   ├── NotInPolicy         no definition in the policy: no purpose, no memory
    │   ├── LiveState           the policy says to look this up, never to remember it
    │   ├── OriginNotGranted    this caller may not assert this origin class
    │   ├── OriginNotAccepted   the definition does not accept this origin class
    │   ├── WeakerOrigin        an inferred value would override a declared one
    │   ├── SecretRefused       the text carries a credential
    │   ├── CompactionFailed    a summariser answered nothing that could stand for the messages
    │   ├── ConsentNeeded       what is to be imported was forgotten here, or may have been
    │   ├── AuditNotAccepted    an audit that is as anchored, or changed in a way that no restore does
    │   ├── SubjectForgotten    the handle belongs to a life of the subject that was forgotten
    │   └── TenantClosed        the company was closed in order to be forgotten
    ├── NotFound                nothing by that id in this scope (a foreign id is a missing id)
    ├── Conflict                someone else wrote first; read again and decide
    │   ├── VersionConflict     the current version is not the expected one
    │   ├── EventConflict       the same event id with another body
    │   ├── OlderStatement      the value was said before the current one
    │   ├── PlanChanged         what would be forgotten is no longer what was planned
    │   └── SessionClosed       the session takes no more writes
    └── Unavailable             the store cannot serve now
        ├── DatabaseUnavailable no connection, or the connection was lost
        ├── UnsafeDatabase      roles, policies or versions would not hold the contract
        ├── SchemaMismatch      the database has another schema version than this release
        ├── DataDirectoryError  the embedded data directory cannot be used
        ├── LedgerUnavailable   the erasure ledger cannot be read or written
        ├── StoreLocked         the database is older than its erasure ledger, or the ledger than it
        ├── KeysUnavailable     the signing keys cannot be read or written
        ├── CopyUnavailable     a copy outside did not answer, or not in a way that can be understood
        └── EmbedderUnavailable the embedder answered nothing usable

Messages say what to do next and never contain a stored value. `code` is stable and is what programs compare;
`http_status` and `exit_code` are what each surface answers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class OlvidoError(Exception):
    """Root of all errors raised by Olvido."""

    code: ClassVar[str] = "olvido_error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1


class InvalidInput(OlvidoError):
    """The call is malformed. Nothing was stored."""

    code = "invalid_input"
    http_status = 422
    exit_code = 2


class InvalidScope(InvalidInput):
    """A tenant, subject or other identifier is not usable as one."""

    code = "invalid_scope"


class InvalidValue(InvalidInput):
    """A value does not fit the shape that the policy gives it."""

    code = "invalid_value"


class InvalidTime(InvalidInput):
    """A datetime without time zone, or an instant outside what the policy allows."""

    code = "invalid_time"


class InvalidCursor(InvalidInput):
    """A page cursor that was not handed out by this list."""

    code = "invalid_cursor"


class InvalidPolicy(InvalidInput):
    """A policy that cannot be used; the message names the line to mend."""

    code = "invalid_policy"


class InvalidReceipt(InvalidInput):
    """A receipt that cannot be relied on: its signature, its key or its form is not right."""

    code = "invalid_receipt"


class Refused(OlvidoError):
    """A well-formed call that the rules do not allow. Nothing was stored."""

    code = "refused"
    http_status = 403
    exit_code = 3


class NotInPolicy(Refused):
    """The policy has no definition for this; the message prints the lines to add."""

    code = "not_in_policy"


class LiveState(Refused):
    """The policy names this as live state: consult its source, do not remember it."""

    code = "live_state"


class OriginNotGranted(Refused):
    """The caller was not granted this origin class."""

    code = "origin_not_granted"


class OriginNotAccepted(Refused):
    """The definition in the policy does not accept this origin class."""

    code = "origin_not_accepted"


class WeakerOrigin(Refused):
    """A value of a weaker origin class would override the current one."""

    code = "weaker_origin"


class SecretRefused(Refused):
    """The text carries a credential, which is never stored."""

    code = "secret_refused"


class CompactionFailed(Refused):
    """The summariser failed, or its answer cannot stand for the messages. Nothing changed; try again."""

    code = "compaction_failed"
    http_status = 422


class ConsentNeeded(Refused):
    """What is to be imported was forgotten here, or may have been; only a new consent brings it back."""

    code = "consent_needed"


class AuditNotAccepted(Refused):
    """The chain of an audit is as it was anchored, or changed where it lies, which no restore does."""

    code = "audit_not_accepted"


class SubjectForgotten(Refused):
    """The subject was forgotten after this handle was opened; its late writes are refused."""

    code = "subject_forgotten"
    http_status = 410


class TenantClosed(Refused):
    """The tenant was closed in order to be forgotten; nothing is read or written there."""

    code = "tenant_closed"
    http_status = 410


class NotFound(OlvidoError):
    """Nothing by that id in this scope. An id of another scope is answered in the same way."""

    code = "not_found"
    http_status = 404
    exit_code = 4


class Conflict(OlvidoError):
    """Another writer was first. Read the current state and decide again."""

    code = "conflict"
    http_status = 409
    exit_code = 5


class VersionConflict(Conflict):
    """The current version is not the one that the caller expected."""

    code = "version_conflict"

    def __init__(self, message: str, *, current_version: int) -> None:
        super().__init__(message)
        self.current_version = current_version


class EventConflict(Conflict):
    """The event id is already recorded with another body."""

    code = "event_conflict"


class OlderStatement(Conflict):
    """The value was said before the one that is current; an explicit correction would win."""

    code = "older_statement"


class PlanChanged(Conflict):
    """What would be forgotten is no longer what was planned. Plan again, look, and decide."""

    code = "plan_changed"


class SessionClosed(Conflict):
    """The session is closed and takes no more writes."""

    code = "session_closed"


class Unavailable(OlvidoError):
    """The store cannot serve this call now."""

    code = "unavailable"
    http_status = 503
    exit_code = 6


class DatabaseUnavailable(Unavailable):
    """The database gave no connection, or the connection was lost during the call."""

    code = "database_unavailable"


class UnsafeDatabase(Unavailable):
    """The database would not hold the contract, so Olvido refuses to serve from it."""

    code = "unsafe_database"


class SchemaMismatch(Unavailable):
    """The database has another schema version than this release of Olvido."""

    code = "schema_mismatch"


class DataDirectoryError(Unavailable):
    """The embedded data directory cannot be created, started or used."""

    code = "data_directory"


class LedgerUnavailable(Unavailable):
    """The erasure ledger cannot be read or written, so nothing is forgotten: it could come back with a backup."""

    code = "ledger_unavailable"


class StoreLocked(Unavailable):
    """The database and its erasure ledger do not belong together as they are. Run `olvido restore check`."""

    code = "store_locked"


class KeysUnavailable(Unavailable):
    """The keys that sign receipts cannot be read or written."""

    code = "keys_unavailable"


class CopyProblem(StrEnum):
    """What was wrong with a copy outside: words for reports and logs, none of which can repeat an id."""

    FAILED = "failed"
    NOT_REGISTERED = "not_registered"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    BUSY = "busy"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    NOT_UNDERSTOOD = "not_understood"
    UNSAFE = "unsafe"
    NOBODY_KNOWN = "nobody_known"


class CopyUnavailable(Unavailable):
    """A copy outside did not answer, or not in a way that can be understood."""

    code = "copy_unavailable"

    def __init__(self, message: str, *, problem: CopyProblem = CopyProblem.FAILED) -> None:
        super().__init__(message)
        self.problem = problem


class EmbedderProblem(StrEnum):
    """What was wrong with an embedder: words for logs and for programs, none of which can repeat a text."""

    FAILED = "failed"
    CLOSED = "closed"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    RESTING = "resting"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    REDIRECTED = "redirected"
    NOT_THE_PROTOCOL = "not_the_protocol"
    WRONG_COUNT = "wrong_count"
    WRONG_SIZE = "wrong_size"
    NO_DIRECTION = "no_direction"


class EmbedderUnavailable(Unavailable):
    """The embedder failed or answered vectors that cannot be used."""

    code = "embedder_unavailable"

    def __init__(self, message: str, *, problem: EmbedderProblem = EmbedderProblem.FAILED) -> None:
        super().__init__(message)
        self.problem = problem
