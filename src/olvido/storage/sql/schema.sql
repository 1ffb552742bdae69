-- name: create_version_table
-- Where the version row of each migration commits together with its change.
CREATE TABLE IF NOT EXISTS olvido.schema_version (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: lock
-- One migration at a time; released at the end of the session, also when the process is killed.
SELECT pg_advisory_lock(hashtextextended('olvido.migrate', 0))

-- name: become_owner
-- What is created belongs to olvido_owner, which nobody logs in as.
SET ROLE olvido_owner

-- name: applied
-- The migrations that this database has, oldest first.
SELECT version, name, checksum FROM olvido.schema_version ORDER BY version

-- name: qualify
-- Until the transaction ends, expressions are printed with the schema of every name, whatever the login's search path.
SELECT set_config('search_path', 'pg_catalog', true)

-- name: version_table
-- Whether any migration ran here at all, and whether this login may read which.
SELECT count(*) > 0 AS present,
       coalesce(bool_and(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')), false)
           AS readable
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'olvido' AND c.relname = 'schema_version'

-- name: record
-- The version row, in the transaction of its change.
INSERT INTO olvido.schema_version (version, name, checksum) VALUES (%(version)s, %(name)s, %(checksum)s)

-- name: create_leaves
-- Partition the large relations; no effect on those that have leaves.
SELECT olvido.create_leaves(%(leaves)s) AS made

-- name: leaves
-- How many leaves the large relations have.
SELECT count(*)::integer AS leaves FROM pg_catalog.pg_inherits
 WHERE inhparent = to_regclass('olvido.index_entries')

-- name: server
-- Versions that start-up checks: the server's as a number (180006) and pgvector's as text.
SELECT current_setting('server_version_num')::integer AS server_version,
       (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS pgvector_version,
       EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'unaccent') AS has_unaccent

-- name: login
-- What the login of this connection is, and may become by membership (members are followed by SET and by INHERIT).
WITH reachable AS (
    SELECT r.* FROM pg_catalog.pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')
), relations AS (
    SELECT c.* FROM pg_catalog.pg_class c
     WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p')
)
SELECT EXISTS (SELECT FROM reachable WHERE rolsuper) AS superuser,
       EXISTS (SELECT FROM reachable WHERE rolbypassrls) AS bypasses,
       EXISTS (SELECT FROM reachable WHERE rolcreaterole) AS creates_roles,
       EXISTS (SELECT FROM reachable WHERE rolreplication OR rolname IN (
           'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')) AS reads_files,
       EXISTS (SELECT FROM relations JOIN reachable r ON r.oid = relowner) AS owns_relations,
       EXISTS (SELECT FROM relations c JOIN reachable r
                   ON has_table_privilege(r.oid, c.oid, 'TRUNCATE, TRIGGER, REFERENCES')) AS outranks_rows,
       EXISTS (SELECT FROM reachable r WHERE has_schema_privilege(r.oid, 'olvido', 'CREATE')
                   OR has_database_privilege(r.oid, current_database(), 'TEMPORARY')) AS creates_relations,
       EXISTS (SELECT FROM pg_catalog.pg_roles
                WHERE rolname = 'olvido_app' AND pg_has_role(session_user, oid, 'USAGE')) AS is_app,
       EXISTS (SELECT FROM pg_catalog.pg_roles
                WHERE rolname = 'olvido_worker' AND pg_has_role(session_user, oid, 'USAGE')) AS is_worker

-- name: relations
-- Every relation of the schema with its row security; leaves name their parent.
SELECT c.relname::text AS relation, c.relkind::text AS kind,
       (SELECT p.relname::text FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
         WHERE i.inhrelid = c.oid AND p.relnamespace = c.relnamespace) AS parent,
       c.relrowsecurity AS row_security, c.relforcerowsecurity AS forced
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
 ORDER BY c.relname

-- name: policies
-- Every policy of the schema, as data; printed with `qualify`. Role 0 is everybody.
SELECT c.relname::text AS relation, p.polname::text AS name, p.polpermissive AS permissive,
       CASE p.polcmd WHEN 'r' THEN 'select' WHEN 'a' THEN 'insert' WHEN 'w' THEN 'update' WHEN 'd' THEN 'delete'
            ELSE 'all' END AS command,
       ARRAY(SELECT CASE role WHEN 0 THEN 'public' ELSE pg_catalog.pg_get_userbyid(role)::text END
               FROM unnest(p.polroles) AS role) AS roles,
       pg_catalog.pg_get_expr(p.polqual, p.polrelid) AS using,
       pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) AS check
  FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
 WHERE c.relnamespace = to_regnamespace('olvido')
 ORDER BY c.relname, p.polname

-- name: scope_functions
-- The bodies of the functions that policies call; printed with `qualify`. NULL: not written in plain SQL.
SELECT p.proname::text AS name, pg_catalog.pg_get_function_sqlbody(p.oid) AS body FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = to_regnamespace('olvido') AND starts_with(p.proname, 'current_')

-- name: keys
-- Whether each relation has a primary key, and a checked foreign key of its scope to `subjects`.
SELECT c.relname::text AS relation,
       EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p') AS keyed,
       EXISTS (SELECT FROM pg_catalog.pg_constraint k
                WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.convalidated
                  AND k.confrelid = to_regclass('olvido.subjects')
                  AND ARRAY['tenant_id', 'subject_key'] = (
                        SELECT array_agg(a.attname::text ORDER BY u.place)
                          FROM unnest(k.conkey) WITH ORDINALITY AS u (attnum, place)
                          JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.attnum)) AS tied
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p') AND NOT c.relispartition

-- name: bodies
-- The bodies of the functions of the schema, as they were written.
SELECT p.proname::text AS name, p.prosrc AS body FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = to_regnamespace('olvido') AND p.prosrc <> ''

-- name: columns
-- Every column of every relation of the schema, with its statistics target (0: ANALYZE keeps nothing of it).
SELECT c.relname::text AS relation, a.attname::text AS column, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       coalesce(a.attstattarget, -1)::integer AS statistics
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY c.relname, a.attnum

-- name: definers
-- Functions that would run with the rights of their owner: there must be none.
SELECT p.oid::regprocedure::text AS function FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = to_regnamespace('olvido') AND p.prosecdef
