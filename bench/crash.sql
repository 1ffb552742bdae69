-- name: summaries_of_missing_episodes
-- References of a summary whose episode, or whose summary, is not there.
SELECT count(*) FROM olvido.summary_sources r
  LEFT JOIN olvido.episodes e
    ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key AND e.record_id = r.episode_id
  LEFT JOIN olvido.summaries s
    ON s.tenant_id = r.tenant_id AND s.subject_key = r.subject_key AND s.record_id = r.summary_id
 WHERE e.record_id IS NULL OR s.record_id IS NULL

-- name: parts_of_missing_sessions
-- Messages, items and facts whose session is not there.
SELECT count(*) FROM (
    SELECT tenant_id, subject_key, session_id FROM olvido.messages
    UNION ALL SELECT tenant_id, subject_key, session_id FROM olvido.session_items
    UNION ALL SELECT tenant_id, subject_key, session_id FROM olvido.session_facts
  ) AS p
  LEFT JOIN olvido.sessions s USING (tenant_id, subject_key, session_id)
 WHERE s.record_id IS NULL

-- name: records_of_missing_lives
-- Records whose subject is not there: what a forget that was cut off would have left.
SELECT count(*) FROM (
    SELECT tenant_id, subject_key FROM olvido.preferences
    UNION ALL SELECT tenant_id, subject_key FROM olvido.preference_versions
    UNION ALL SELECT tenant_id, subject_key FROM olvido.episodes
    UNION ALL SELECT tenant_id, subject_key FROM olvido.index_entries
    UNION ALL SELECT tenant_id, subject_key FROM olvido.summaries
    UNION ALL SELECT tenant_id, subject_key FROM olvido.sessions
    UNION ALL SELECT tenant_id, subject_key FROM olvido.due
  ) AS r
  LEFT JOIN olvido.subjects s USING (tenant_id, subject_key)
 WHERE s.subject_key IS NULL
