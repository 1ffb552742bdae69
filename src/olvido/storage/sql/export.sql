-- name: export_subjects
-- Since when this person is known here, and under which id.
SELECT external_id, created_at FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: export_due
-- How many notes there are of when something of this person expires.
SELECT count(*) AS rows FROM olvido.due WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: export_lives
-- How many notes there are of what the index of this person was made by.
SELECT count(*) AS rows FROM olvido.lives WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: export_sessions
-- Live sessions, in the order in which they were opened.
SELECT * FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at > %(now)s
 ORDER BY opened_at, session_id

-- name: export_session_facts
-- Facts of live sessions.
SELECT f.* FROM olvido.session_facts f
  JOIN olvido.sessions s
    ON s.tenant_id = f.tenant_id AND s.subject_key = f.subject_key AND s.session_id = f.session_id
 WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s AND s.expires_at > %(now)s
 ORDER BY f.session_id, f.position

-- name: export_session_items
-- Decisions, constraints and pending items of live sessions.
SELECT i.* FROM olvido.session_items i
  JOIN olvido.sessions s
    ON s.tenant_id = i.tenant_id AND s.subject_key = i.subject_key AND s.session_id = i.session_id
 WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND s.expires_at > %(now)s
 ORDER BY i.session_id, i.kind, i.position

-- name: export_messages
-- Messages of live sessions, folded ones too.
SELECT m.* FROM olvido.messages m
  JOIN olvido.sessions s
    ON s.tenant_id = m.tenant_id AND s.subject_key = m.subject_key AND s.session_id = m.session_id
 WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND s.expires_at > %(now)s
 ORDER BY m.session_id, m.sequence

-- name: export_preferences
-- The live value of each key.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND (expires_at IS NULL OR expires_at > %(now)s)
 ORDER BY key

-- name: export_preference_versions
-- The kept versions of the live value of each key, oldest first.
SELECT v.* FROM olvido.preference_versions v
  JOIN olvido.preferences p
    ON p.tenant_id = v.tenant_id AND p.subject_key = v.subject_key AND p.record_id = v.record_id
 WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s
   AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
   AND (v.retain_until IS NULL OR v.retain_until > %(now)s)
 ORDER BY v.key, v.version

-- name: export_episodes
-- Live episodes, oldest event first.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND (expires_at IS NULL OR expires_at > %(now)s)
 ORDER BY occurred_at, record_id

-- name: export_index_entries
-- How many live records are indexed.
SELECT count(*) AS rows FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND (expires_at IS NULL OR expires_at > %(now)s)

-- name: export_summaries
-- Live summaries, by what they are of.
SELECT * FROM olvido.summaries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND (expires_at IS NULL OR expires_at > %(now)s)
 ORDER BY definition, case_id

-- name: export_summary_sources
-- Which live episodes the live summaries refer to, oldest first.
SELECT r.* FROM olvido.summary_sources r
  JOIN olvido.summaries s
    ON s.tenant_id = r.tenant_id AND s.subject_key = r.subject_key AND s.record_id = r.summary_id
  JOIN olvido.episodes e
    ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key AND e.record_id = r.episode_id
 WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s
   AND e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
   AND (s.expires_at IS NULL OR s.expires_at > %(now)s)
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
 ORDER BY r.summary_id, e.occurred_at, r.episode_id
