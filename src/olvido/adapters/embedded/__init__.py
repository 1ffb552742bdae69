"""The embedded database: a private PostgreSQL in one directory, shared by processes and stopped by the last to leave.

handle      start(), EmbeddedServer, ServerUrls: who uses the server, and when it stops
cluster     the data directory: created whole or not at all, its settings, its passwords
postmaster  the server process: found, started, waited for, stopped
account     which system user runs the server when we are root
layout      what lies where in the home directory, and with which permissions
locks       advisory file locks, which the kernel releases for a killed process
processes   what the process table says about PostgreSQL
stray_files files that a crash of the server left, removed
binaries    where the PostgreSQL programs are, and how they are run
"""

from olvido.adapters.embedded.handle import EmbeddedServer, ServerUrls, start

__all__ = ["EmbeddedServer", "ServerUrls", "start"]
