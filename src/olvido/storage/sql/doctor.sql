-- name: facts
-- What a diagnosis says about the server and the schema when nothing is wrong.
SELECT current_setting('server_version') AS server_version,
       (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS pgvector_version,
       (SELECT max(version) FROM olvido.schema_version) AS schema_version,
       (SELECT count(*)::integer FROM pg_catalog.pg_inherits
         WHERE inhparent = to_regclass('olvido.index_entries')) AS leaves

-- name: roles
-- The four roles as they are, and whether membership would let one of them pass row security.
SELECT r.rolname::text AS role, r.rolcanlogin AS logs_in,
       EXISTS (SELECT FROM pg_catalog.pg_roles x
                WHERE pg_has_role(r.oid, x.oid, 'MEMBER')
                  AND (x.rolsuper OR x.rolbypassrls OR x.rolcreaterole OR x.rolreplication)) AS outranks
  FROM pg_catalog.pg_roles r WHERE r.rolname = ANY(%(roles)s)

-- name: memberships
-- Every role that one of the four is a member of, itself or through others; of a superuser, that is no news.
SELECT r.rolname::text AS role, x.rolname::text AS member_of
  FROM pg_catalog.pg_roles r JOIN pg_catalog.pg_roles x ON x.oid <> r.oid AND pg_has_role(r.oid, x.oid, 'MEMBER')
 WHERE r.rolname = ANY(%(roles)s) AND NOT r.rolsuper
 ORDER BY role, member_of

-- name: grants
-- Who may do what with each relation and column of the schema.
SELECT c.relname::text AS relation, a.privilege_type AS verb,
       CASE a.grantee WHEN 0 THEN 'public' ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END AS role
  FROM pg_catalog.pg_class c, aclexplode(c.relacl) a
 WHERE c.relnamespace = to_regnamespace('olvido') AND a.grantee <> c.relowner
UNION ALL
SELECT c.relname::text, a.privilege_type || '(' || t.attname || ')',
       CASE a.grantee WHEN 0 THEN 'public' ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END
  FROM pg_catalog.pg_attribute t JOIN pg_catalog.pg_class c ON c.oid = t.attrelid, aclexplode(t.attacl) a
 WHERE c.relnamespace = to_regnamespace('olvido') AND a.grantee <> c.relowner

-- name: strangers
-- What reads, copies or owns relations of the schema and was put there by no migration.
WITH ours AS (
    SELECT c.oid, c.relname::text AS relation, pg_catalog.pg_get_userbyid(c.relowner)::text AS owner
      FROM pg_catalog.pg_class c
     WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p')
)
SELECT 'owner' AS kind, relation, owner AS name FROM ours WHERE owner <> 'olvido_owner'
UNION ALL
SELECT 'statistics', o.relation, s.stxname::text FROM pg_catalog.pg_statistic_ext s JOIN ours o ON o.oid = s.stxrelid
UNION ALL
SELECT DISTINCT CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, o.relation,
       v.relnamespace::regnamespace::text || '.' || v.relname
  FROM pg_catalog.pg_depend d JOIN ours o ON o.oid = d.refobjid
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
 WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND v.relkind IN ('v', 'm')
UNION ALL
SELECT 'publication', string_agg(p.tablename::text, ', ' ORDER BY p.tablename::text), p.pubname::text
  FROM pg_catalog.pg_publication_tables p WHERE p.schemaname = 'olvido' GROUP BY p.pubname
 ORDER BY kind, relation, name

-- name: settings
-- Settings that decide what else the server keeps; one that the server does not have is absent.
SELECT name, setting FROM pg_catalog.pg_settings WHERE name = ANY(%(names)s)

-- name: slots
-- Replication slots, and how many bytes of WAL each keeps.
SELECT slot_name::text AS slot, active,
       coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                     ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint AS bytes
  FROM pg_catalog.pg_replication_slots ORDER BY slot_name

-- name: standbys
-- How many servers receive the WAL at this moment.
SELECT count(*)::integer AS standbys FROM pg_catalog.pg_stat_replication

-- name: snapshots
-- The oldest snapshot and the oldest prepared transaction of this database; sees_all: sessions of others are visible.
SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all, clock_timestamp() AS looked_at,
       s.pid, s.since, p.prepared
  FROM (SELECT min(prepared) AS prepared FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()) AS p
  LEFT JOIN LATERAL (
      SELECT pid, coalesce(xact_start, backend_start) AS since FROM pg_catalog.pg_stat_activity
       WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
         AND (datname = current_database() OR backend_type = 'walsender')
       ORDER BY age(backend_xmin) DESC, xact_start LIMIT 1) AS s ON true

-- name: rewrites
-- When relations, or leaves, were last written anew; seen by a worker only.
SELECT relation, begun_at FROM olvido.rewrites

-- name: sizes
-- Bytes on disk of each relation with its indexes, leaves summed, and rows as the statistics estimate them. Writing a
-- relation anew leaves its removed rows behind and its statistics as they were, until a vacuum or ANALYZE comes: dead_rows
-- is NULL meanwhile. rewritten: when that was, by relation; NULL is not known, and then the first file of each counts.
SELECT relation, sum(pg_total_relation_size(oid))::bigint AS bytes,
       sum(pg_stat_get_live_tuples(oid))::bigint AS live_rows,
       CASE WHEN bool_and(counted) THEN sum(pg_stat_get_dead_tuples(oid))::bigint END AS dead_rows
  FROM (SELECT c.oid, coalesce(p.relname, c.relname)::text AS relation,
               CASE WHEN %(rewritten)s::jsonb IS NULL THEN c.relfilenode IN (0, c.oid)
                    WHEN %(rewritten)s::jsonb ->> c.relname IS NULL THEN true
                    ELSE coalesce(greatest(
                             pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid),
                             pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid))
                         > (%(rewritten)s::jsonb ->> c.relname)::timestamptz, false) END AS counted
          FROM pg_catalog.pg_class c
          LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
          LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
         WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind IN ('r', 'p')) AS parts
 GROUP BY relation ORDER BY bytes DESC, relation

-- name: overdue
-- Lives that hold something expired at this moment, and since when the oldest of them does; seen by a worker only.
SELECT count(*)::integer AS lives, min(next_due_at) AS oldest,
       coalesce(min(next_due_at) < clock_timestamp() - %(grace)s::interval, false) AS late
  FROM olvido.due WHERE next_due_at <= clock_timestamp()

-- name: next_tenant
-- The next company, in order, in which somebody lives; seen by a worker only.
SELECT min(tenant_id) AS tenant FROM olvido.lives WHERE tenant_id > %(after)s::text COLLATE "C"

-- name: indexed
-- Live records of the scope that recall looks for, by the embedder of their vector; entry: they have an index entry.
SELECT entry, embedder, count(*)::integer AS records
  FROM (SELECT i.record_id IS NOT NULL AS entry, i.embedder
          FROM olvido.preferences p
          LEFT JOIN olvido.index_entries i ON i.tenant_id = p.tenant_id AND i.subject_key = p.subject_key
           AND i.record_id = p.record_id
         WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s
           AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
        UNION ALL
        SELECT i.record_id IS NOT NULL, i.embedder
          FROM olvido.episodes e
          LEFT JOIN olvido.index_entries i ON i.tenant_id = e.tenant_id AND i.subject_key = e.subject_key
           AND i.record_id = e.record_id
         WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
           AND (e.expires_at IS NULL OR e.expires_at > %(now)s)) AS records
 GROUP BY entry, embedder

-- name: anchored
-- The number of the last seal of a company, and the digest of the one that an anchor names; of a company that was entered.
SELECT coalesce(max(seal), 0) AS last, max(digest) FILTER (WHERE seal = %(seal)s) AS digest
  FROM olvido.audit_seals WHERE tenant_id = %(tenant)s

-- name: erasures_waiting
-- Steps of requests to forget that somebody should look at, and those that no worker came to in time; for a worker only.
SELECT count(*) FILTER (WHERE status = 'needs_attention')::integer AS attention,
       count(*) FILTER (WHERE due_at < clock_timestamp() - %(grace)s::interval)::integer AS late
  FROM olvido.erasure_steps WHERE settled_at IS NULL
