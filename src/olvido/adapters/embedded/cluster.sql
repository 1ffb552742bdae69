-- What every new cluster gets, before any schema: the four roles and the database.
-- Runs in single-user mode, where a statement ends with a semicolon and an empty line.

-- Owns the schema; nobody logs in as it.
CREATE ROLE olvido_owner NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;

-- Rewrites storage after a forget.
CREATE ROLE olvido_eraser LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;

-- Serves requests.
CREATE ROLE olvido_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;

-- Runs the duties.
CREATE ROLE olvido_worker LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;

CREATE DATABASE olvido OWNER olvido_owner;

-- No connection that was not granted, and no temporary tables, which row security does not see.
REVOKE ALL ON DATABASE olvido, postgres, template1 FROM PUBLIC;

GRANT CONNECT ON DATABASE olvido TO olvido_app, olvido_worker, olvido_eraser;

