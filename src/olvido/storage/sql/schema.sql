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

-- name: other_owner
-- A role beside olvido_owner that the schema or a relation of it belongs to, if there is one.
SELECT pg_catalog.pg_get_userbyid(o.owner)::text AS role
  FROM (SELECT nspowner AS owner FROM pg_catalog.pg_namespace WHERE nspname = 'olvido'
        UNION SELECT relowner FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace('olvido')) AS o
 WHERE pg_catalog.pg_get_userbyid(o.owner) <> 'olvido_owner' LIMIT 1

-- name: applied
-- The migrations that this database has, oldest first.
SELECT version, name, checksum FROM olvido.schema_version ORDER BY version

-- name: see_rows
-- Read rows by their policies until the session ends, whatever the login's setting.
SET row_security = on

-- name: served
-- What the login's settings, before `qualify` replaces them, would do to what is served.
SELECT to_regtype('halfvec') IS NOT NULL AND to_regtype('sparsevec') IS NOT NULL AS sees_vectors,
       current_setting('row_security') = 'on' AS sees_rows

-- name: qualify
-- Until the transaction ends, expressions are printed with the schema of every name and quotes where these are needed,
-- and rows are read, whatever the login's settings.
SELECT set_config('search_path', 'pg_catalog', true), set_config('quote_all_identifiers', 'off', true),
       set_config('standard_conforming_strings', 'on', true), set_config('row_security', 'on', true)

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
-- What start-up checks: the server's version as a number (180006), pgvector's as text, and the encoding of the database.
SELECT current_setting('server_version_num')::integer AS server_version,
       current_setting('server_encoding') AS encoding,
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
       EXISTS (SELECT FROM reachable WHERE rolreplication) AS replicates,
       -- of a superuser, who is a member of every role, none is told
       ARRAY(SELECT rolname::text FROM reachable
              WHERE starts_with(rolname, 'pg_') AND NOT EXISTS (SELECT FROM reachable WHERE rolsuper)) AS predefined,
       current_setting('session_replication_role') = 'replica' AS skips_keys,
       EXISTS (SELECT FROM relations JOIN reachable r ON r.oid = relowner) AS owns_relations,
       EXISTS (SELECT FROM relations c JOIN reachable r
                   ON has_table_privilege(r.oid, c.oid, 'TRUNCATE, TRIGGER, REFERENCES')) AS outranks_rows,
       EXISTS (SELECT FROM reachable r WHERE has_schema_privilege(r.oid, 'olvido', 'CREATE')
                   OR has_database_privilege(r.oid, current_database(), 'TEMPORARY')) AS creates_relations,
       EXISTS (SELECT FROM pg_catalog.pg_roles
                WHERE rolname = 'olvido_app' AND pg_has_role(session_user, oid, 'USAGE')) AS is_app,
       EXISTS (SELECT FROM pg_catalog.pg_roles
                WHERE rolname = 'olvido_worker' AND pg_has_role(session_user, oid, 'USAGE')) AS is_worker,
       EXISTS (SELECT FROM pg_catalog.pg_roles
                WHERE rolname = 'olvido_eraser' AND pg_has_role(session_user, oid, 'USAGE')) AS is_eraser,
       EXISTS (SELECT FROM reachable WHERE rolname IN ('olvido_app', 'olvido_worker')) AS reads_rows

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

-- name: objects
-- What hangs on each relation, with its definition; printed with `qualify`. holder: the relation itself, or a leaf of it.
-- What a leaf has from its parent is left out, as it can be neither dropped nor changed there; and so is what refers to
-- a leaf, which PostgreSQL keeps beside the key that refers to the parent.
WITH ours AS (
    SELECT c.oid, coalesce(p.relname, c.relname)::text AS relation, c.relname::text AS holder, p.oid IS NOT NULL AS leaf
      FROM pg_catalog.pg_class c
      LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
      LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent AND p.relnamespace = c.relnamespace
     WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p')
), referring AS MATERIALIZED (  -- or it would be looked for once a leaf
    SELECT k.* FROM pg_catalog.pg_constraint k
     WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid IN (SELECT oid FROM ours)
       AND k.conrelid NOT IN (SELECT oid FROM ours)
)
SELECT o.relation, o.holder, 'column' AS kind, a.attname::text AS name,
       regexp_replace(pg_catalog.format_type(a.atttypid, a.atttypmod), '^.*\.', '')
           || CASE WHEN l.collname <> 'default' THEN ' COLLATE "' || l.collname || '"' ELSE '' END
           || CASE WHEN a.attstorage <> 'x' AND a.attlen = -1
                   THEN ' STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'm' THEN 'MAIN' ELSE 'EXTERNAL' END
                   ELSE '' END
           || CASE WHEN a.attidentity <> '' OR a.attgenerated <> '' THEN ' GENERATED' ELSE '' END
           || coalesce(' DEFAULT ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
           || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS definition
  FROM ours o JOIN pg_catalog.pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE NOT o.leaf
UNION ALL
SELECT o.relation, o.holder, CASE k.contype WHEN 'c' THEN 'check' ELSE 'key' END, k.conname::text,
       pg_catalog.pg_get_constraintdef(k.oid)
  FROM ours o JOIN pg_catalog.pg_constraint k ON k.conrelid = o.oid
 WHERE k.contype IN ('p', 'u', 'f', 'c', 'x') AND k.conparentid = 0 AND NOT (o.leaf AND k.coninhcount > 0)
UNION ALL
SELECT o.relation, o.holder, 'key', k.conrelid::regclass::text || '.' || k.conname,
       pg_catalog.pg_get_constraintdef(k.oid)
  FROM referring k JOIN ours o ON o.oid = k.confrelid
UNION ALL
SELECT o.relation, o.holder,
       CASE WHEN i.indisunique THEN 'key' WHEN i.indexprs IS NOT NULL THEN 'expression index' ELSE 'index' END,
       x.relname::text,
       substring(pg_catalog.pg_get_indexdef(i.indexrelid) FROM ' USING (.*)$')
           || CASE WHEN i.indisvalid THEN '' ELSE ' INVALID' END
  FROM ours o JOIN pg_catalog.pg_index i ON i.indrelid = o.oid JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
 WHERE NOT i.indisvalid
    OR NOT x.relispartition
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k
                    WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
UNION ALL
SELECT o.relation, o.holder, 'rule', r.rulename::text, pg_catalog.pg_get_ruledef(r.oid)
  FROM ours o JOIN pg_catalog.pg_rewrite r ON r.ev_class = o.oid
UNION ALL
SELECT o.relation, o.holder, 'trigger', t.tgname::text, pg_catalog.pg_get_triggerdef(t.oid)
  FROM ours o JOIN pg_catalog.pg_trigger t ON t.tgrelid = o.oid WHERE NOT t.tgisinternal AND t.tgparentid = 0
UNION ALL
SELECT DISTINCT o.relation, o.holder, 'disabled trigger', '', ''
  FROM ours o JOIN pg_catalog.pg_trigger t ON t.tgrelid = o.oid WHERE t.tgisinternal AND t.tgenabled <> 'O'
 ORDER BY 1, 2, 3, 4

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
