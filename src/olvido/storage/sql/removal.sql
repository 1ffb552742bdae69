-- name: locate
-- Which relation holds each of some records, live or expired.
SELECT record_id, 'preferences' AS relation FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 'episodes' FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 'summaries' FROM olvido.summaries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 'sessions' FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 'session_facts' FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: count_records
-- Rows that hold or derive from some records, in each relation.
SELECT 'preferences' AS relation, count(*) AS rows FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'preference_versions', count(*) FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'episodes', count(*) FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'index_entries', count(*) FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'summaries', count(*) FROM olvido.summaries s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND (s.record_id = ANY(%(record_ids)s)
        -- a summary of nothing but these episodes goes with them
        OR NOT EXISTS (SELECT FROM olvido.summary_sources r
                        WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s
                          AND r.summary_id = s.record_id AND r.episode_id <> ALL(%(record_ids)s)))
UNION ALL
SELECT 'summary_sources', count(*) FROM olvido.summary_sources
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (summary_id = ANY(%(record_ids)s) OR episode_id = ANY(%(record_ids)s))
UNION ALL
SELECT 'sessions', count(*) FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'session_items', count(*) FROM olvido.session_items i
  JOIN olvido.sessions s ON s.tenant_id = i.tenant_id AND s.subject_key = i.subject_key
   AND s.session_id = i.session_id
 WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND s.record_id = ANY(%(record_ids)s)
UNION ALL
SELECT 'session_facts', count(*) FROM olvido.session_facts f
  JOIN olvido.sessions s ON s.tenant_id = f.tenant_id AND s.subject_key = f.subject_key
   AND s.session_id = f.session_id
 WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s
   AND (f.record_id = ANY(%(record_ids)s) OR s.record_id = ANY(%(record_ids)s))
UNION ALL
SELECT 'messages', count(*) FROM olvido.messages m
  JOIN olvido.sessions s ON s.tenant_id = m.tenant_id AND s.subject_key = m.subject_key
   AND s.session_id = m.session_id
 WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s AND s.record_id = ANY(%(record_ids)s)

-- name: next_due
-- The earliest instant at which something of this life expires; NULL if nothing ever does.
SELECT min(at) AS due_at FROM (
    SELECT min(expires_at) AS at FROM olvido.preferences WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
    UNION ALL
    SELECT min(retain_until) FROM olvido.preference_versions
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
    UNION ALL
    SELECT min(expires_at) FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
    UNION ALL
    SELECT min(expires_at) FROM olvido.sessions WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
) AS expiries

-- name: due
-- Lives that have something to purge, the longest overdue first.
SELECT tenant_id, subject_key FROM olvido.due WHERE next_due_at <= %(now)s ORDER BY next_due_at LIMIT %(batch)s

-- name: claim
-- Take one overdue life; no row if it is no longer overdue, or somebody purges it, rewrites what it derives or schedules.
SELECT d.next_due_at
  FROM olvido.subjects s JOIN olvido.due d ON d.tenant_id = s.tenant_id AND d.subject_key = s.subject_key
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND d.tenant_id = %(tenant)s AND d.subject_key = %(subject)s AND d.next_due_at <= %(now)s
   FOR NO KEY UPDATE OF s SKIP LOCKED FOR UPDATE OF d SKIP LOCKED

-- name: claim_waiting
-- Take one overdue life, after whoever holds it; no row if it is no longer overdue.
SELECT next_due_at FROM olvido.due
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND next_due_at <= %(now)s
   FOR UPDATE

-- name: reschedule
-- When this life is next due.
UPDATE olvido.due SET next_due_at = %(due_at)s WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: unschedule
-- This life has nothing that expires.
DELETE FROM olvido.due WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: queue_for_life
-- Let whoever writes for this life finish, and be next; at: when the turn came.
SELECT clock_timestamp() AS at FROM olvido.queue(%(subject)s::uuid::text, true)

-- name: queue_for_tenant
-- Let whoever begins a life in this company finish, and be next; at: when the turn came.
SELECT clock_timestamp() AS at FROM olvido.queue(%(tenant)s, true)

-- name: hold_preferences
-- Hold some preferences, live or expired, against whoever corrects them.
SELECT record_id FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: hold_episodes
-- Hold some episodes, live or expired.
SELECT record_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: hold_summaries
-- Hold some summaries.
SELECT record_id FROM olvido.summaries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: hold_sessions
-- Hold some sessions, live or expired, against whoever appends to them.
SELECT record_id FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: hold_session_facts
-- Hold some facts of sessions, live or expired.
SELECT record_id FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: know_tenant
-- Make sure that a company has a row, so that it can be closed before anything was written for it.
WITH known AS (
    INSERT INTO olvido.tenants (tenant_id, opened_at) VALUES (%(tenant)s, %(now)s) ON CONFLICT DO NOTHING
    RETURNING tenant_id
)
INSERT INTO olvido.sealing (tenant_id, due_at) SELECT tenant_id, '-infinity' FROM known

-- name: lives
-- Whether somebody lives under an external id now.
SELECT subject_key FROM olvido.subjects WHERE tenant_id = %(tenant)s AND external_id = %(external)s

-- name: lock_tenant
-- Wait for lives that begin at this moment, and keep others from beginning, until the transaction ends.
SELECT tenant_id FROM olvido.tenants WHERE tenant_id = %(tenant)s FOR UPDATE

-- name: close_tenant
-- Close a company before it is forgotten; no new life begins in it from then on. Kept if it is closed already.
UPDATE olvido.tenants SET closed_at = coalesce(closed_at, %(now)s) WHERE tenant_id = %(tenant)s

-- name: tenant_lives
-- The lives of one company that are still there, in the order of their keys, after a position.
SELECT subject_key FROM olvido.subjects
 WHERE tenant_id = %(tenant)s AND (%(after)s::uuid IS NULL OR subject_key > %(after)s)
 ORDER BY subject_key LIMIT %(batch)s

-- name: tenant_size
-- How many lives one company has.
SELECT count(*)::integer AS lives FROM olvido.subjects WHERE tenant_id = %(tenant)s
