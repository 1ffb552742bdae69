-- name: settle
-- For this session: how long to wait for a lock and how long one statement may take, in milliseconds, and in which zone
-- instants are told.
SELECT set_config('timezone', 'UTC', false), set_config('lock_timeout', %(lock_timeout)s, false),
       set_config('statement_timeout', %(statement_timeout)s, false)

-- name: take_turn
-- Be the only one that rewrites files of this database, until the session ends. Seed 2: 0 and 1 are other locks.
SELECT pg_try_advisory_lock(hashtextextended('olvido.rewrite', 2)) AS taken, pg_is_in_recovery() AS standby

-- name: turn_taken
-- Whether somebody has that turn, which everybody may see.
WITH turn AS (SELECT hashtextextended('olvido.rewrite', 2) AS key)
SELECT EXISTS (SELECT FROM pg_catalog.pg_locks l
                 JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = current_database()
                 JOIN turn t ON l.classid = ((t.key >> 32) & 4294967295)::oid AND l.objid = (t.key & 4294967295)::oid
                WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted) AS taken

-- name: holders
-- Who may still see rows that are removed, and from which transaction on. next: whatever has ended is before it. running:
-- whatever is before it has ended. Sessions of other databases hold what they write, not what they see; a vacuum holds
-- nothing; a standby has no database.
WITH moment AS (
    SELECT pg_snapshot_xmax(now) AS next, pg_snapshot_xmin(now) AS running FROM pg_current_snapshot() AS now
), holders AS (
    SELECT CASE WHEN a.datname IS NULL AND a.application_name <> '' THEN 'standby' ELSE 'session' END AS kind,
           CASE WHEN a.datname IS NULL AND a.application_name <> '' THEN a.application_name ELSE a.pid::text END AS name,
           coalesce(a.xact_start, a.backend_start) AS since, x.xid
      FROM pg_catalog.pg_stat_activity a
      CROSS JOIN LATERAL (VALUES
          (a.backend_xid, true),
          (a.backend_xmin, a.datname IS NULL OR a.datname = current_database())) AS x (xid, holds)
     WHERE x.xid IS NOT NULL AND x.holds AND a.pid <> pg_backend_pid()
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_vacuum v WHERE v.pid = a.pid)
    UNION ALL
    SELECT 'prepared transaction', gid, prepared, transaction FROM pg_catalog.pg_prepared_xacts
    UNION ALL
    SELECT 'replication slot', slot_name::text, NULL, xmin FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL
)
SELECT m.next::text::bigint AS next, m.running::text::bigint AS running, h.kind, h.name, h.since,
       m.next::text::bigint - (age(h.xid) - age(m.next::xid)) AS sees_from
  FROM moment m LEFT JOIN holders h ON true

-- name: files
-- Which relation has the rows of each tenant in its files: the relation itself, or the leaf of it; NULL if there is none.
WITH leaves AS MATERIALIZED (
    SELECT i.inhparent, c.relname,
           regexp_match(pg_catalog.pg_get_expr(c.relpartbound, c.oid), 'modulus (\d+), remainder (\d+)') AS bound
      FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
     WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind = 'r'
)
SELECT t.tenant, p.relname::text AS relation,
       CASE WHEN p.relkind = 'r' THEN p.relname::text
            ELSE (SELECT l.relname::text FROM leaves l
                   WHERE l.inhparent = p.oid
                     AND satisfies_hash_partition(p.oid, l.bound[1]::integer, l.bound[2]::integer,
                                                  t.tenant COLLATE "C"))
        END AS file
  FROM unnest(%(tenants)s::text[]) AS t (tenant)
 CROSS JOIN pg_catalog.pg_class p
 WHERE p.relnamespace = to_regnamespace('olvido') AND p.relname = ANY(%(relations)s)

-- name: rewrite
-- Write one relation anew; how long its lock took to get, in seconds, and when everyone was kept out.
SELECT before::bigint AS before, after::bigint AS after, ended::text::bigint AS ended, begun_at,
       extract(epoch FROM waited)::double precision AS waited
  FROM olvido.rewrite(to_regclass('olvido.' || quote_ident(%(relation)s)))

-- name: listing
-- Whether this login may list files; and the instant after which a file may belong to a transaction that still goes on,
-- with a minute for clocks that differ. NULL: that is not known, as a prepared transaction does not say when it began.
SELECT has_function_privilege('pg_ls_dir(text, boolean, boolean)', 'EXECUTE')
           AND has_function_privilege('pg_stat_file(text, boolean)', 'EXECUTE') AS may_list,
       CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') AND NOT EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts)
             -- a session may keep to itself since when its transaction goes on
             AND NOT coalesce(bool_or(xact_start IS NULL AND backend_xid IS NOT NULL), false)
            THEN least(min(xact_start), clock_timestamp()) - interval '1 minute' END AS ended_by
  FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid()

-- name: stray_files
-- Files with something in them, in the directories of this database in all tablespaces, that belong to no relation.
-- left_behind: whoever began it is not there any more. Asked after `listing`: what was committed until then is known to be
-- a relation's.
WITH places AS (
    SELECT 'base/' || d.oid AS place FROM pg_catalog.pg_database d WHERE d.datname = current_database()
    UNION ALL
    SELECT 'pg_tblspc/' || t.oid || '/' || version || '/' || d.oid
      FROM pg_catalog.pg_tablespace t
     CROSS JOIN LATERAL pg_ls_dir('pg_tblspc/' || t.oid, true, false) AS version
      JOIN pg_catalog.pg_database d ON d.datname = current_database()
     WHERE t.spcname NOT IN ('pg_default', 'pg_global') AND starts_with(version, 'PG_')
), known AS MATERIALIZED (
    SELECT pg_relation_filenode(oid) AS number FROM pg_catalog.pg_class WHERE relkind IN ('r', 'i', 't', 'm', 'S')
), unknown AS MATERIALIZED (
    SELECT p.place || '/' || name AS file FROM places p CROSS JOIN LATERAL pg_ls_dir(p.place, true, false) AS name
     WHERE name ~ '^\d+(_[a-z]+)?(\.\d+)?$'
       AND NOT EXISTS (SELECT FROM known k WHERE k.number = substring(name FROM '^\d+')::oid)
)
SELECT u.file, coalesce(s.modification < %(ended_by)s::timestamptz, false) AS left_behind
  FROM unknown u CROSS JOIN LATERAL pg_stat_file(u.file, true) AS s WHERE s.size > 0 ORDER BY u.file

-- name: writing_from
-- The server as it is when files begin to be written: its time, and the timeline of its log.
SELECT clock_timestamp() AS since, substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS timeline

-- name: went_on
-- Whether this server has not crashed since an instant, nor another one taken its place: a crash sets all counts to nothing,
-- and whoever takes its place begins a timeline.
SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) = %(timeline)s::text
       AND least(b.stats_reset, w.stats_reset, a.stats_reset) < %(since)s::timestamptz AS went_on
  FROM pg_catalog.pg_stat_bgwriter b, pg_catalog.pg_stat_wal w, pg_catalog.pg_stat_archiver a

-- name: position
-- Where the write-ahead log is.
SELECT pg_current_wal_insert_lsn()::text AS lsn

-- name: reached
-- A position, or where the log is if that is before it: then it was noted on another server, whose log is not here.
SELECT least(%(lsn)s::pg_lsn, pg_current_wal_insert_lsn())::text AS lsn

-- name: checkpoint
-- Write everything to its files, after which the log before it is not needed.
CHECKPOINT

-- name: switch
-- Go on in a new file of the log.
SELECT pg_switch_wal()::text AS lsn

-- name: log_end
-- The last file of the log that there is, whether it is in use, or kept under a later name to be used again with what
-- stood in it; NULL if none is.
SELECT max(substr(name, 9, 16)) AS last, clock_timestamp() AS at FROM pg_catalog.pg_ls_waldir()
 WHERE name ~ '^[0-9A-F]{24}'

-- name: log_files
-- How many files of the log there are up to one of them, and whether the log goes on in a later one.
SELECT (SELECT count(*)::integer FROM pg_catalog.pg_ls_waldir()
         WHERE name ~ '^[0-9A-F]{24}' AND substr(name, 9, 16) <= %(last)s) AS files,
       substr(pg_walfile_name(pg_current_wal_insert_lsn()), 9, 16) > %(last)s AS behind

-- name: log_settings
-- What decides whether old files of the log are removed, since when it has been so at least, and whether this login
-- sees how far standbys are.
SELECT current_setting('wal_recycle') AS wal_recycle, current_setting('wal_keep_size') AS wal_keep_size,
       current_setting('archive_mode') AS archive_mode,
       greatest(pg_conf_load_time(), pg_postmaster_start_time()) AS set_at, clock_timestamp() AS checked_at,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all

-- name: slots
-- Replication slots: which of them keep the log from before a position, and which belong to somebody who is not there.
SELECT slot_name::text AS name, slot_type AS kind, active, restart_lsn::text AS lsn,
       coalesce(restart_lsn < %(lsn)s::pg_lsn, false) AS keeps
  FROM pg_catalog.pg_replication_slots ORDER BY slot_name

-- name: replicas
-- Whoever receives the log at this moment, and whether what it has replayed is past a position.
SELECT r.application_name AS name, r.replay_lsn::text AS lsn, coalesce(r.replay_lsn >= %(lsn)s::pg_lsn, false) AS passed
  FROM pg_catalog.pg_stat_replication r ORDER BY r.application_name, r.pid

-- name: receivers
-- Whoever receives the log, which of its files it has come to, and which one is in use. NULL: that is not said or shown.
SELECT application_name AS name, substr(pg_walfile_name(flush_lsn), 9, 16) AS file,
       substr(pg_walfile_name(pg_current_wal_insert_lsn()), 9, 16) AS current
  FROM pg_catalog.pg_stat_replication ORDER BY application_name, pid
