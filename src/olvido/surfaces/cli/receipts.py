"""`olvido receipt`: issue a signed receipt of a request to forget, and verify one without any database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.errors import InvalidReceipt
from olvido.surfaces.cli.options import AsJson, DatabaseUrl, DataDir, KeysDir, LedgerDir, Tenant, WorkerUrl, example
from olvido.surfaces.cli.runtime import answer, run, where

if TYPE_CHECKING:
    from olvido.domain.receipt import VerifiedReceipt
    from olvido.memory import Memory
    from olvido.surfaces.receipt_reports import CheckedAgainst

app = typer.Typer(no_args_is_help=True)

LARGEST = 16 * 1024 * 1024
"""Bytes of the largest file that is read. A receipt has a few thousand, and fifty for each record that it names."""


@app.command("issue", epilog=example("olvido receipt issue 019f0000-0000-7000-8000-000000000001 --tenant acme"))
def issue(
    erasure_id: Annotated[str, typer.Argument(help="The erasure_id of the report.", show_default=False)],
    tenant: Tenant,
    keys: KeysDir = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    ledger: LedgerDir = None,
    worker_url: WorkerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Sign what is known of a request to forget at this moment: counts, levels, evidence, what is open.

    It holds no forgotten value, no external id and no hash of either. A later one says how far it has come by then.
    """

    async def work(memory: Memory) -> str:
        return await memory.receipt(tenant, erasure_id)

    token = run(where(database_url, data_dir, worker_url=worker_url, keys=keys, ledger=ledger), work)
    if as_json:
        answer({"receipt": token}, lambda: "", as_json=True)
    else:
        # Not through a console, which would break a line that is one.
        typer.echo(token)


@app.command("verify", epilog=example("olvido receipt verify receipt.jws --jwks published-keys.json"))
def verify(
    file: Annotated[Path, typer.Argument(help="The receipt; - is standard input.", show_default=False)],
    jwks: Annotated[
        Path | None,
        typer.Option("--jwks", help="Published keys of the issuer; yours otherwise.", show_default=False),
    ] = None,
    keys: KeysDir = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Verify a receipt offline, and say what it attests and what it does not.

    No database is opened. Get the published keys from the issuer, and not from whoever brings the receipt. The exit
    code is 2 if the receipt was changed, or if none of the keys signed it.
    """
    from olvido.adapters.receipts import verify_receipt
    from olvido.adapters.signatures import key_since, read_jwks

    token = _text(file, "FILE")
    source, published = _published(keys, data_dir) if jwks is None else (jwks, read_jwks(_text(jwks, "--jwks")))
    verified = verify_receipt(token, published)

    from olvido.surfaces.receipt_reports import CheckedAgainst
    from olvido.surfaces.receipt_reports import verified as told

    against = CheckedAgainst(
        source="standard input" if str(source) == "-" else str(source),
        own=jwks is None,
        key_since=key_since(published, verified.key_id),
    )
    answer(_document(verified, against), lambda: told(verified, against), as_json=as_json)


def _document(verified: VerifiedReceipt, against: CheckedAgainst) -> dict[str, object]:
    from olvido.surfaces.receipt_reports import does_not_attest

    return {
        "verified": True,
        "key_id": verified.key_id,
        "checked_against": against,
        "receipt": verified.receipt,
        "does_not_attest": does_not_attest(verified.receipt),
    }


def _published(keys: Path | None, data_dir: Path | None) -> tuple[Path, dict[str, object]]:
    """The published keys of this installation, and the file they are in."""
    from olvido.bootstrap import keys_directory

    place = where(None, data_dir, keys=keys)
    directory = keys_directory(place.keys, place.target)
    published = {"keys": []} if directory is None else directory.verifying()
    if directory is None or not published["keys"]:
        raise InvalidReceipt(
            "There are no published keys here to verify it with. Name those of its issuer with --jwks, as "
            "`olvido keys publish` prints them there."
        )
    return directory.published_in, published


def _text(path: Path, name: str) -> str:
    """The text of a small file."""
    try:
        if str(path) == "-":
            content = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
    except OSError as error:
        raise typer.BadParameter(f"{path.name} cannot be read: {error.strerror}.", param_hint=name) from None
    if len(content) > LARGEST:
        raise typer.BadParameter(f"{path.name} is larger than any such file.", param_hint=name)
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        raise InvalidReceipt(f"{path.name} is neither a receipt nor a set of keys: those are plain ASCII.") from None
