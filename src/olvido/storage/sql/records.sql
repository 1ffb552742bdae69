-- name: standing
-- Which of some record ids are in use in this scope, live or expired, and for what.
SELECT record_id, key AS name, NULL AS event_id FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, definition, event_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, NULL, NULL FROM olvido.summaries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, NULL, NULL FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, NULL, NULL FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
