"""Write src/olvido/storage/schema.sql and schema.json: what the migrations make, in one piece.

The first is for people to read and to compare, and nothing runs it. The second is what start-up and `olvido doctor`
compare a database with. A test compares both with a migrated database, so that a change of a migration shows what it
does.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

import olvido
from olvido.adapters import embedded
from olvido.adapters.embedded.binaries import locate
from olvido.storage.objects import described
from olvido.storage.queries import statements

SCHEMA = Path(__file__).resolve().parent.parent / "src" / "olvido" / "storage" / "schema.sql"
OBJECTS = SCHEMA.with_suffix(".json")

HEADER = """\
-- The schema as the migrations leave it, to be read in one piece. Nothing runs this file: `make schema` writes it.
-- Leaves are left out: how many there are is the choice of each deployment, and each has the wall of its parent.
"""

# What says more about the programs that made the dump than about the schema: versions, settings, a random token.
NOISE = re.compile(r"^(--.*|SET .*;|SELECT pg_catalog\.set_config\(.*|\\(un)?restrict .*)\n", re.MULTILINE)
BLANK = "\n\n"
BLANKS = re.compile(r"\n{2,}")
VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}


def dump(url: str) -> str:
    """The schema of the database at `url` as SQL, the same for every host, path and run."""
    address = {VARIABLES[name]: str(value) for name, value in conninfo_to_dict(url).items() if name in VARIABLES}
    done = subprocess.run(
        [
            str(locate().bin / "pg_dump"),
            "--schema-only",
            "--schema=olvido",
            "--exclude-table=olvido.*_[0-9]*",
            "--no-password",
        ],
        env={**os.environ, **address},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return f"{HEADER}\n{BLANKS.sub(BLANK, NOISE.sub('', done.stdout)).strip()}\n"


def objects(url: str) -> str:
    """What hangs on each relation of the database at `url`, the same for every host, path and run."""
    sql = statements("schema")
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute(sql["qualify"].text)
        return described(connection.execute(sql["objects"].text).fetchall())


def main() -> None:
    """Migrate a throw-away database and write its schema."""
    with tempfile.TemporaryDirectory(prefix="olvido-schema-") as home, embedded.start(Path(home) / "home") as server:
        olvido.migrate(server.urls.superuser, leaves=1)
        SCHEMA.write_text(dump(server.urls.superuser), encoding="utf-8")
        OBJECTS.write_text(objects(server.urls.superuser), encoding="utf-8")
    print(f"Wrote {SCHEMA.name} and {OBJECTS.name}")


if __name__ == "__main__":
    main()
