-- name: facts
-- What a diagnosis says about the server and the schema when nothing is wrong.
SELECT current_setting('server_version') AS server_version,
       (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector') AS pgvector_version,
       (SELECT max(version) FROM olvido.schema_version) AS schema_version,
       (SELECT count(*)::integer FROM pg_catalog.pg_inherits
         WHERE inhparent = to_regclass('olvido.index_entries')) AS leaves

-- name: overdue
-- Lives that hold something expired at this moment, and since when the oldest of them does; seen by a worker only.
SELECT count(*)::integer AS lives, min(next_due_at) AS oldest,
       coalesce(min(next_due_at) < clock_timestamp() - %(grace)s::interval, false) AS late
  FROM olvido.due WHERE next_due_at <= clock_timestamp()
