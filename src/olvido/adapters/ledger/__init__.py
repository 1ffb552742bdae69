"""The erasure ledger as one file, which all hosts of a database share and nothing but erasures is ever written to.

ledger      FileLedger: the port, off the event loop, many entries in one write
journal     the file: read on from where it was read to, appended to under a lock, durable before anybody is answered
tally       what the lines add up to
checkpoint  that, kept beside the file, so that opening does not read all of it again
lines       one line: JSON that carries a checksum over itself and all lines before it
place       its directory: made, private, and somebody's own
"""

from olvido.adapters.ledger.ledger import FileLedger

__all__ = ["FileLedger"]
