"""A real streaming standby, made of the same programs, on the private socket of the primary server."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from olvido.adapters.embedded import binaries
from olvido.adapters.embedded.account import Account, server_account
from olvido.adapters.embedded.binaries import environment, run
from tests.adapters.embedded.support import eventually
from tests.erasure.place import Place

NAME = "lisbon"
"""What the standby calls itself, and what a policy that declares it calls it."""
DATABASE = "olvido"


@dataclass(kw_only=True, slots=True)
class Standby:
    """A standby of the server of a place. directory: of its data and its socket."""

    place: Place
    directory: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self.directory / "copy"

    @property
    def account(self) -> Account:
        """Who runs it: whoever runs the primary server."""
        home = self.place.directory / "home"
        return server_account(home, home / "pg")

    @property
    def url(self) -> str:
        """How the administrator connects to it."""
        head = self.place.urls.superuser.partition("?")[0]
        return f"{head}?host={quote(str(self.directory), safe='')}"

    def make(self) -> None:
        """Copy the primary server, as its administrator would."""
        hba = self.place.directory / "home" / "pg" / "pg_hba.conf"
        with hba.open("a", encoding="utf-8") as file:
            file.write("local replication postgres scram-sha-256\n")
        self.place.run("SELECT pg_reload_conf()")
        self.account.take(self.directory)
        programs = binaries.locate()
        command = [str(programs.bin / "pg_basebackup"), "--pgdata", str(self.data), "--checkpoint=fast"]
        run([*command, "--dbname", self.place.urls.superuser], account=self.account)
        (self.data / "standby.signal").touch()
        self.account.take(self.data / "standby.signal")

    def configure(self, **settings: str) -> None:
        """Change settings; a running standby reads them at once."""
        self.settings |= settings
        lines = [f"{name} = '{value}'\n" for name, value in self.settings.items()]
        file = self.data / "postgresql.auto.conf"
        file.write_text("".join(lines), encoding="utf-8")
        self.account.take(file)
        if self.process is not None:
            self.run("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it, and wait until it can be read."""
        primary = psycopg.conninfo.conninfo_to_dict(self.place.urls.superuser)
        sender = f"host={primary['host']} user=postgres password={primary['password']} application_name={NAME}"
        self.configure(
            primary_conninfo=sender,
            unix_socket_directories=str(self.directory),
            wal_receiver_status_interval="1s",
            wal_retrieve_retry_interval="100ms",
        )
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(binaries.locate().bin / "postgres"), "-D", str(self.data)],
                stdout=log,
                stderr=log,
                cwd="/",
                env=environment(),
                umask=0o077,
                **self.account.switch(),
            )
        assert eventually(self._answers)

    def stop(self) -> None:
        """Stop it; what it has is on disk then."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=60)
            self.process = None

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """All rows of one query."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(query.encode()).fetchall()

    def run(self, statement: str) -> None:
        """Run one statement."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def replay(self, lsn: str) -> None:
        """Wait until the primary server knows that the standby is past a position."""
        with psycopg.connect(self.place.urls.superuser, autocommit=True) as primary:
            # The standby tells at once that it applied a commit like this; of anything else, once a second.
            primary.execute("SET synchronous_commit = remote_apply")
            primary.execute("SELECT pg_current_xact_id()")

            def known() -> bool:
                told = primary.execute(
                    "SELECT count(*) FROM pg_stat_replication WHERE application_name = %s AND replay_lsn >= %s::pg_lsn",
                    [NAME, lsn],
                )
                return told.fetchall() == [(1,)]

            assert eventually(known)

    def catch_up(self) -> None:
        """Wait until it has replayed all there is."""
        ((lsn,),) = self.place.rows("SELECT pg_current_wal_insert_lsn()::text")
        self.replay(str(lsn))

    def drop_old_log(self) -> None:
        """Have it remove what it needs no more: at its next restart point, as it does by itself in time."""
        for _ in range(2):
            self.place.run("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
            self.catch_up()
            self.run("CHECKPOINT")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.directory / "log").read_text(encoding="utf-8")
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
