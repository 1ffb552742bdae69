-- name: ended_life
-- A forgotten life among the one that an export came from and those that took one of its exports in, if there is any.
SELECT f.subject_key FROM olvido.audit_log f
 WHERE f.tenant_id = %(tenant)s AND f.action = 'forget' AND f.kind = 'subject'
   AND (f.subject_key = %(life)s
        OR f.subject_key IN (SELECT i.subject_key FROM olvido.audit_log i
                              WHERE i.tenant_id = %(tenant)s AND i.action = 'imported' AND i.kind = 'subject'
                                AND i.record_id = %(life)s))
 LIMIT 1

-- name: taken_in
-- The lives whose exports one life took in.
SELECT DISTINCT record_id FROM olvido.audit_log
 WHERE tenant_id = %(tenant)s AND subject_key = %(life)s AND action = 'imported' AND kind = 'subject'
 ORDER BY record_id

-- name: forgotten_records
-- Which of some records were forgotten in some lives, or had a version forgotten after an instant: when that was asked,
-- since a row of a copy that was put back is of when it was applied again.
SELECT DISTINCT record_id FROM olvido.audit_log a
 WHERE tenant_id = %(tenant)s AND subject_key = ANY(%(lives)s) AND record_id = ANY(%(record_ids)s)
   AND action IN ('forget', 'reopened')
   AND ((action = 'forget' AND kind = 'record')
        OR (action = 'reopened' AND kind = 'preference' AND at >= %(after)s
            AND coalesce((SELECT max(e.requested_at) FROM olvido.erasures e
                           WHERE e.tenant_id = %(tenant)s AND e.subject_key = a.subject_key AND e.version IS NOT NULL
                             AND a.record_id = ANY(e.record_ids) AND e.requested_at <= a.at), at) >= %(after)s))

-- name: revoked
-- Which of some records were forgotten in this company, alone or with whatever life held them, since a life last took
-- them in. Reads the log of the company, unless nothing was ever forgotten there.
WITH held AS MATERIALIZED (
    SELECT record_id, subject_key, min(at) AS since,
           max(at) FILTER (WHERE action = 'forget' AND kind = 'record') AS forgotten_at
      FROM olvido.audit_log
     WHERE tenant_id = %(tenant)s AND record_id = ANY(%(record_ids)s)
       AND EXISTS (SELECT FROM olvido.audit_log f WHERE f.tenant_id = %(tenant)s AND f.action = 'forget')
     GROUP BY record_id, subject_key
), ended AS MATERIALIZED (
    SELECT subject_key, max(at) AS ended_at FROM olvido.audit_log
     WHERE tenant_id = %(tenant)s AND action = 'forget' AND kind = 'subject' GROUP BY subject_key
)
SELECT record_id FROM held LEFT JOIN ended USING (subject_key)
 GROUP BY record_id
HAVING max(greatest(forgotten_at, ended_at)) >= max(since)

-- name: forgotten_until
-- The last forget in this company that may have been of one person: any before their life here, or one in it.
-- Nobody can tell whom a forget before it was of: its key is random and names nobody.
SELECT max(a.at) AS at FROM olvido.audit_log a
 WHERE a.tenant_id = %(tenant)s AND a.action IN ('forget', 'reopened')
   AND ((a.action = 'forget' AND a.kind = 'subject'
         AND a.at <= coalesce((SELECT s.created_at FROM olvido.subjects s
                                WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(life)s), a.at))
        OR (a.kind <> 'subject' AND a.subject_key = %(life)s))

-- name: write_forgotten
-- One row for each record that was forgotten together with others, without content; the first has the counts of all.
INSERT INTO olvido.audit_log (tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
SELECT %(tenant)s, audit_id, %(subject)s, 'forget', 'record', record_id,
       CASE WHEN position = 1 THEN %(counts)s ELSE '{}'::jsonb END, %(policy_version)s, %(now)s
  FROM unnest(%(audit_ids)s::uuid[], %(record_ids)s::uuid[]) WITH ORDINALITY AS r (audit_id, record_id, position)
