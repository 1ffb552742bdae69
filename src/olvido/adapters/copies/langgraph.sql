-- name: postgres_rows
-- Rows of some threads in the relations of a LangGraph checkpointer on PostgreSQL.
SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = ANY(%(threads)s))
     + (SELECT count(*) FROM checkpoint_blobs WHERE thread_id = ANY(%(threads)s))
     + (SELECT count(*) FROM checkpoint_writes WHERE thread_id = ANY(%(threads)s)) AS rows

-- name: postgres_orphans
-- Rows of threads that have no checkpoint any more, so that nobody can tell whose they were.
SELECT (SELECT count(*) FROM checkpoint_blobs b
         WHERE NOT EXISTS (SELECT FROM checkpoints c WHERE c.thread_id = b.thread_id))
     + (SELECT count(*) FROM checkpoint_writes w
         WHERE NOT EXISTS (SELECT FROM checkpoints c WHERE c.thread_id = w.thread_id)) AS rows

-- name: sqlite_rows
-- The same on SQLite, where the values stand in the checkpoints; the threads are a JSON list.
SELECT (SELECT count(*) FROM checkpoints WHERE thread_id IN (SELECT value FROM json_each(:threads)))
     + (SELECT count(*) FROM writes WHERE thread_id IN (SELECT value FROM json_each(:threads))) AS rows

-- name: sqlite_orphans
-- Rows of threads that have no checkpoint any more, on SQLite.
SELECT count(*) AS rows FROM writes w WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = w.thread_id)
