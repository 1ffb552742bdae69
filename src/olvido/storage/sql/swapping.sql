-- name: settle
-- Whatever the login has set for itself: how long a statement may take, in milliseconds, 0 for as long as it takes.
SELECT set_config('statement_timeout', %(statement_timeout)s, false), set_config('lock_timeout', '0', false),
       set_config('idle_in_transaction_session_timeout', '0', false), set_config('timezone', 'UTC', false),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '0', false) END

-- name: limits
-- Until the transaction ends: how long to wait for a lock, and how long a statement may take, in milliseconds.
SELECT set_config('lock_timeout', %(lock_timeout)s, true), set_config('statement_timeout', %(statement_timeout)s, true)

-- name: login
-- Whether this login sees past row security, and may make what belongs to Olvido.
SELECT (rolsuper OR rolbypassrls) AND pg_has_role('olvido_owner', 'SET') AND pg_has_role('olvido_owner', 'USAGE') AS able
  FROM pg_catalog.pg_roles WHERE rolname = current_user

-- name: leaf
-- A leaf of a large relation by its name, with the bytes of its rows.
SELECT c.oid::regclass::text AS relation, pg_table_size(c.oid) AS bytes
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
 WHERE c.relnamespace = to_regnamespace('olvido') AND c.relkind = 'r' AND c.relname = %(name)s

-- name: as_owner
-- What is made from here on belongs to olvido_owner.
SET LOCAL ROLE olvido_owner

-- name: as_administrator
-- The login's own rights again.
RESET ROLE

-- name: make_copy
-- An empty copy of a leaf.
SELECT olvido.make_copy(to_regclass(%(relation)s))

-- name: moment
-- The instant, and the transaction before which all have ended.
SELECT clock_timestamp() AS begun_at, x.ended::text::bigint AS ended, (x.ended::xid)::text AS since
  FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS ended) AS x

-- name: copying
-- The statements that read and write.
SELECT read, write FROM olvido.copying(to_regclass(%(relation)s))

-- name: count_copy
-- Let the server know how many rows the copy has.
SELECT olvido.count_copy(to_regclass(%(relation)s))

-- name: shut
-- Keep everyone out of a leaf and of what refers to it; how many seconds that took to come about.
SELECT begun_at, extract(epoch FROM waited)::double precision AS waited FROM olvido.shut(to_regclass(%(relation)s))

-- name: later_rows
-- How many rows the leaf has, how many of them came since, and how these are read.
SELECT rows, later, read FROM olvido.later_rows(to_regclass(%(relation)s), %(since)s::text::xid)

-- name: swap
-- Put the copy in the place of the leaf.
SELECT before::bigint AS before, after::bigint AS after FROM olvido.swap(to_regclass(%(relation)s))
