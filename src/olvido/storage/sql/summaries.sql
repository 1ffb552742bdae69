-- name: cases
-- The live episodes that belong to a case, oldest first: what a summary is built from.
SELECT e.definition, e.case_id, e.record_id, e.origin_class, e.expires_at
  FROM olvido.episodes e
 WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s AND e.case_id IS NOT NULL
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
 ORDER BY e.definition, e.case_id, e.occurred_at, e.record_id

-- name: put
-- Write or refresh the summary of one case; its record id stays the same.
INSERT INTO olvido.summaries (
    tenant_id, subject_key, record_id, definition, case_id, origin_class, expires_at, built_at)
VALUES (%(tenant)s, %(subject)s, %(record_id)s, %(definition)s, %(case_id)s, %(origin_class)s, %(expires_at)s,
        %(now)s)
ON CONFLICT (tenant_id, subject_key, definition, case_id) DO UPDATE
   SET origin_class = excluded.origin_class, expires_at = excluded.expires_at, built_at = excluded.built_at
RETURNING record_id

-- name: replace_sources
-- Make the references of one summary exactly these episodes. An episode that went meanwhile fails the foreign key.
WITH gone AS (
    DELETE FROM olvido.summary_sources
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND summary_id = %(record_id)s
       AND NOT episode_id = ANY(%(episode_ids)s)
)
INSERT INTO olvido.summary_sources (tenant_id, subject_key, summary_id, episode_id)
SELECT %(tenant)s, %(subject)s, %(record_id)s, e FROM unnest(%(episode_ids)s::uuid[]) AS e
ON CONFLICT DO NOTHING

-- name: all
-- The live summaries, by definition and case.
SELECT s.* FROM olvido.summaries s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND (s.expires_at IS NULL OR s.expires_at > %(now)s)
   AND (%(case_id)s::text IS NULL OR s.case_id = %(case_id)s)
 ORDER BY s.definition, s.case_id

-- name: entries
-- The episodes that some summaries refer to, oldest first, as they stand now.
SELECT r.summary_id, r.episode_id, e.event_id, e.status, e.occurred_at, e.origin_class, e.origin_source,
       e.origin_ref, e.origin_actor, e.origin_at
  FROM olvido.summary_sources r
  JOIN olvido.episodes e
    ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key AND e.record_id = r.episode_id
 WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = ANY(%(record_ids)s)
   AND e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
 ORDER BY e.occurred_at, e.record_id

-- name: referring
-- Which summaries refer to some episodes.
SELECT DISTINCT summary_id FROM olvido.summary_sources
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND episode_id = ANY(%(record_ids)s)

-- name: forget_references
-- Take some episodes out of every summary.
DELETE FROM olvido.summary_sources
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND episode_id = ANY(%(record_ids)s)

-- name: forget_empty
-- Delete those of some summaries that refer to nothing any more.
DELETE FROM olvido.summaries s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND s.record_id = ANY(%(record_ids)s)
   AND NOT EXISTS (SELECT FROM olvido.summary_sources r
                    WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = s.record_id)

-- name: rebuild
-- Give some summaries the earliest expiry and the lowest trust of the episodes that remain.
UPDATE olvido.summaries s
   SET expires_at = left_over.expires_at, built_at = %(now)s,
       origin_class = CASE WHEN left_over.inferred THEN 'inferred' WHEN left_over.observed THEN 'observed'
                           ELSE 'declared' END
  FROM (SELECT r.summary_id, min(e.expires_at) AS expires_at, bool_or(e.origin_class = 'inferred') AS inferred,
               bool_or(e.origin_class = 'observed') AS observed
          FROM olvido.summary_sources r
          JOIN olvido.episodes e
            ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key AND e.record_id = r.episode_id
         WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = ANY(%(record_ids)s)
           AND e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
         GROUP BY r.summary_id) AS left_over
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND s.record_id = left_over.summary_id

-- name: forget_sources
-- Delete the references of some summaries.
DELETE FROM olvido.summary_sources
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND summary_id = ANY(%(record_ids)s)

-- name: forget
-- Delete some summaries.
DELETE FROM olvido.summaries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
