-- name: chosen
-- The records of a scope, live and expired, that meet every condition given (NULL is none). A kind is only asked for
-- that has what the conditions are about. A session counts by all of its time: one that reaches over a border is not in.
SELECT record_id FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND 'preference' = ANY(%(kinds)s::text[])
   AND (%(definition)s::text IS NULL OR key = %(definition)s)
   AND (%(since)s::timestamptz IS NULL OR said_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR said_at < %(until)s)
   AND (%(record_ids)s::uuid[] IS NULL OR record_id = ANY(%(record_ids)s))
   AND (%(among)s::uuid[] IS NULL OR record_id = ANY(%(among)s))
UNION ALL
SELECT record_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND 'episode' = ANY(%(kinds)s::text[])
   AND (%(definition)s::text IS NULL OR definition = %(definition)s)
   AND (%(case_id)s::text IS NULL OR case_id = %(case_id)s)
   AND (%(since)s::timestamptz IS NULL OR occurred_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR occurred_at < %(until)s)
   AND (%(record_ids)s::uuid[] IS NULL OR record_id = ANY(%(record_ids)s))
   AND (%(among)s::uuid[] IS NULL OR record_id = ANY(%(among)s))
UNION ALL
SELECT s.record_id FROM olvido.summaries s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND 'summary' = ANY(%(kinds)s::text[])
   AND (%(definition)s::text IS NULL OR s.definition = %(definition)s)
   AND (%(case_id)s::text IS NULL OR s.case_id = %(case_id)s)
   AND (%(since)s::timestamptz IS NULL AND %(until)s::timestamptz IS NULL
        -- as for a session: every report that it refers to is in
        OR NOT EXISTS (SELECT FROM olvido.summary_sources r
                         JOIN olvido.episodes e ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key
                          AND e.record_id = r.episode_id
                        WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = s.record_id
                          AND e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
                          AND (e.occurred_at < %(since)s OR e.occurred_at >= %(until)s)))
   AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
   AND (%(among)s::uuid[] IS NULL OR s.record_id = ANY(%(among)s))
UNION ALL
SELECT s.record_id FROM olvido.sessions s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND 'session' = ANY(%(kinds)s::text[])
   AND (%(session_id)s::text IS NULL OR s.session_id = %(session_id)s)
   AND (%(since)s::timestamptz IS NULL OR s.opened_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL
        OR (s.opened_at < %(until)s
            AND NOT EXISTS (SELECT FROM olvido.messages m
                             WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s
                               AND m.session_id = s.session_id AND m.recorded_at >= %(until)s)
            AND NOT EXISTS (SELECT FROM olvido.session_items i
                             WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s
                               AND i.session_id = s.session_id AND i.recorded_at >= %(until)s)
            AND NOT EXISTS (SELECT FROM olvido.session_facts f
                             WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s
                               AND f.session_id = s.session_id AND f.recorded_at >= %(until)s)))
   AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
   AND (%(among)s::uuid[] IS NULL OR s.record_id = ANY(%(among)s))
UNION ALL
SELECT record_id FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND 'fact' = ANY(%(kinds)s::text[])
   AND (%(session_id)s::text IS NULL OR session_id = %(session_id)s)
   AND (%(since)s::timestamptz IS NULL OR recorded_at >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR recorded_at < %(until)s)
   AND (%(record_ids)s::uuid[] IS NULL OR record_id = ANY(%(record_ids)s))
   AND (%(among)s::uuid[] IS NULL OR record_id = ANY(%(among)s))

-- name: overlapping
-- Sessions that have something inside a span of time and something outside it, so that a selection leaves them.
SELECT s.record_id
  FROM olvido.sessions s
  LEFT JOIN (SELECT session_id, min(recorded_at) AS first_at, max(recorded_at) AS last_at
               FROM (SELECT session_id, recorded_at FROM olvido.messages
                      WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
                     UNION ALL
                     SELECT session_id, recorded_at FROM olvido.session_items
                      WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
                     UNION ALL
                     SELECT session_id, recorded_at FROM olvido.session_facts
                      WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s) AS said
              GROUP BY session_id) AS told ON told.session_id = s.session_id
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND (%(session_id)s::text IS NULL OR s.session_id = %(session_id)s)
   AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
   AND (%(since)s::timestamptz IS NULL OR greatest(s.opened_at, told.last_at) >= %(since)s)
   AND (%(until)s::timestamptz IS NULL OR s.opened_at < %(until)s)
   AND (s.opened_at < %(since)s OR greatest(s.opened_at, told.last_at) >= %(until)s)
 ORDER BY s.record_id

-- name: has_definition
-- Whether anything of a definition that the policy may have dropped is stored.
SELECT EXISTS (SELECT FROM olvido.episodes
                WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND definition = %(definition)s)
    OR EXISTS (SELECT FROM olvido.preferences
                WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND key = %(definition)s) AS stored

-- name: purposes
-- For what purposes something is stored and can be searched, those that the policy dropped included.
SELECT DISTINCT purpose FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND (expires_at IS NULL OR expires_at > %(now)s)
 ORDER BY purpose

-- name: said
-- What was said and noted in live sessions, by the record that a forget of it takes, with its number in `states`.
WITH live AS (
    SELECT record_id, session_id, goal, opened_at, revision FROM olvido.sessions
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at > %(now)s
)
SELECT 'session' AS kind, record_id, session_id, goal AS content, opened_at AS at, revision AS state
  FROM live WHERE goal IS NOT NULL
UNION ALL
SELECT 'session', l.record_id, l.session_id, i.content, i.recorded_at, l.revision FROM olvido.session_items i
  JOIN live l USING (session_id) WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s
UNION ALL
SELECT 'session', l.record_id, l.session_id, m.content, m.recorded_at, l.revision FROM olvido.messages m
  JOIN live l USING (session_id) WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s
UNION ALL
SELECT 'fact', f.record_id, l.session_id, f.content, f.recorded_at, 0 FROM olvido.session_facts f
  JOIN live l USING (session_id) WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s
 ORDER BY at, record_id

-- name: states
-- The number by which a change of some records is seen: the version of a preference, the messages of a session. What
-- never changes has 0; what is there no more has no row.
SELECT record_id, version AS state FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, revision FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 0 FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
UNION ALL
SELECT record_id, 0 FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
