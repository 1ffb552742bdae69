-- name: counts
-- Rows of the scope in each relation of the data map that a forget empties, expired ones included.
SELECT 'summary_sources' AS relation, count(*) AS rows FROM olvido.summary_sources WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'summaries' AS relation, count(*) AS rows FROM olvido.summaries WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'index_entries' AS relation, count(*) AS rows FROM olvido.index_entries WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'episodes' AS relation, count(*) AS rows FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'preference_versions' AS relation, count(*) AS rows FROM olvido.preference_versions WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'preferences' AS relation, count(*) AS rows FROM olvido.preferences WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'messages' AS relation, count(*) AS rows FROM olvido.messages WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'session_items' AS relation, count(*) AS rows FROM olvido.session_items WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'session_facts' AS relation, count(*) AS rows FROM olvido.session_facts WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'sessions' AS relation, count(*) AS rows FROM olvido.sessions WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'due' AS relation, count(*) AS rows FROM olvido.due WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'lives' AS relation, count(*) AS rows FROM olvido.lives WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'subjects' AS relation, count(*) AS rows FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: checksums
-- SHA-256 over the rows of the scope in each personal relation, in an order that does not depend on the heap.
SELECT 'summary_sources' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.summary_sources t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'summaries' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.summaries t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'index_entries' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.index_entries t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'episodes' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.episodes t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'preference_versions' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.preference_versions t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'preferences' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.preferences t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'messages' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.messages t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'session_items' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.session_items t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'session_facts' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.session_facts t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
UNION ALL SELECT 'sessions' AS relation, olvido.digest(array_agg(t::text)) AS checksum
  FROM olvido.sessions t WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_summary_sources
-- Delete the rows of the scope in summary_sources.
DELETE FROM olvido.summary_sources WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_summaries
-- Delete the rows of the scope in summaries.
DELETE FROM olvido.summaries WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_index_entries
-- Delete the rows of the scope in index_entries.
DELETE FROM olvido.index_entries WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_episodes
-- Delete the rows of the scope in episodes.
DELETE FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_preference_versions
-- Delete the rows of the scope in preference_versions.
DELETE FROM olvido.preference_versions WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_preferences
-- Delete the rows of the scope in preferences.
DELETE FROM olvido.preferences WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_messages
-- Delete the rows of the scope in messages.
DELETE FROM olvido.messages WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_session_items
-- Delete the rows of the scope in session_items.
DELETE FROM olvido.session_items WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_session_facts
-- Delete the rows of the scope in session_facts.
DELETE FROM olvido.session_facts WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_sessions
-- Delete the rows of the scope in sessions.
DELETE FROM olvido.sessions WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_due
-- Delete the rows of the scope in due.
DELETE FROM olvido.due WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_lives
-- Delete the rows of the scope in lives.
DELETE FROM olvido.lives WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: forget_subjects
-- Delete the rows of the scope in subjects.
DELETE FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: lock_subject
-- Hold the life against every writer: they wait, and fail once its row is gone.
SELECT subject_key FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s FOR UPDATE
