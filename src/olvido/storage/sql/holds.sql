-- name: of_life
-- The legal holds of this life. Whoever places one waits until nobody writes for the life, and others wait then.
SELECT hold_id, record_id, basis, review_at FROM olvido.legal_holds
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: keep
-- Copy what holds name of some records (NULL is all of the life) to where no read looks, before it is deleted.
-- Answers how many rows of which record are kept by which hold. What is derived from a record is not kept: it can be
-- made again. store: false only answers, and keeps nothing.
WITH asked AS MATERIALIZED (
    SELECT hold_id, record_id FROM olvido.legal_holds
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
), kept AS MATERIALIZED (
    SELECT a.hold_id, 'preferences' AS relation, p.record_id, 0 AS place, to_jsonb(p) AS content
      FROM olvido.preferences p JOIN asked a ON a.record_id IS NULL OR a.record_id = p.record_id
     WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR p.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'preference_versions', v.record_id, v.version, to_jsonb(v)
      FROM olvido.preference_versions v JOIN asked a ON a.record_id IS NULL OR a.record_id = v.record_id
     WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR v.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'episodes', e.record_id, 0, to_jsonb(e)
      FROM olvido.episodes e JOIN asked a ON a.record_id IS NULL OR a.record_id = e.record_id
     WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR e.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'sessions', s.record_id, 0, to_jsonb(s)
      FROM olvido.sessions s JOIN asked a ON a.record_id IS NULL OR a.record_id = s.record_id
     WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'session_items', s.record_id, i.position, to_jsonb(i)
      FROM olvido.session_items i
      JOIN olvido.sessions s
        ON s.tenant_id = i.tenant_id AND s.subject_key = i.subject_key AND s.session_id = i.session_id
      JOIN asked a ON a.record_id IS NULL OR a.record_id = s.record_id
     WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s
       AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'session_facts', f.record_id, f.position, to_jsonb(f)
      FROM olvido.session_facts f
      JOIN olvido.sessions s
        ON s.tenant_id = f.tenant_id AND s.subject_key = f.subject_key AND s.session_id = f.session_id
      JOIN asked a ON a.record_id IS NULL OR a.record_id IN (f.record_id, s.record_id)
     WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s
       AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR f.record_id = ANY(%(record_ids)s) OR s.record_id = ANY(%(record_ids)s))
    UNION ALL
    SELECT a.hold_id, 'messages', s.record_id, m.sequence, to_jsonb(m)
      FROM olvido.messages m
      JOIN olvido.sessions s
        ON s.tenant_id = m.tenant_id AND s.subject_key = m.subject_key AND s.session_id = m.session_id
      JOIN asked a ON a.record_id IS NULL OR a.record_id = s.record_id
     WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s
       AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
       AND (%(record_ids)s::uuid[] IS NULL OR s.record_id = ANY(%(record_ids)s))
    UNION ALL
    -- Whose the records were, when the life ends.
    SELECT a.hold_id, 'subjects', u.subject_key, 0, to_jsonb(u)
      FROM olvido.subjects u CROSS JOIN asked a
     WHERE u.tenant_id = %(tenant)s AND u.subject_key = %(subject)s AND %(record_ids)s::uuid[] IS NULL
), stored AS (
    INSERT INTO olvido.held_records (tenant_id, hold_id, removal_id, relation, position, record_id, content, kept_at)
    SELECT %(tenant)s, hold_id, %(removal_id)s, relation,
           row_number() OVER (PARTITION BY hold_id, relation ORDER BY record_id, content ->> 'kind', place),
           record_id, content - 'tenant_id' - 'subject_key', %(now)s
      FROM kept WHERE %(store)s
)
SELECT hold_id, relation, record_id, count(*)::integer AS rows FROM kept GROUP BY hold_id, relation, record_id

-- name: keep_versions
-- Copy what holds name of single versions of preferences, before they are deleted. Answers as `keep` does.
WITH kept AS MATERIALIZED (
    SELECT h.hold_id, v.record_id, v.version, to_jsonb(v) AS content
      FROM unnest(%(record_ids)s::uuid[], %(versions)s::integer[]) AS g (record_id, version)
      JOIN olvido.preference_versions v ON v.record_id = g.record_id AND v.version = g.version
      JOIN olvido.legal_holds h
        ON h.tenant_id = v.tenant_id AND h.subject_key = v.subject_key
       AND (h.record_id IS NULL OR h.record_id = v.record_id)
     WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s
       AND h.tenant_id = %(tenant)s AND h.subject_key = %(subject)s
), stored AS (
    INSERT INTO olvido.held_records (tenant_id, hold_id, removal_id, relation, position, record_id, content, kept_at)
    SELECT %(tenant)s, hold_id, %(removal_id)s, 'preference_versions',
           row_number() OVER (PARTITION BY hold_id ORDER BY record_id, version),
           record_id, content - 'tenant_id' - 'subject_key', %(now)s
      FROM kept
)
SELECT hold_id, 'preference_versions' AS relation, record_id, count(*)::integer AS rows
  FROM kept GROUP BY hold_id, record_id

-- name: place
-- Begin a hold on one record of a life, or on all of it (record_id is NULL).
INSERT INTO olvido.legal_holds (tenant_id, hold_id, subject_key, record_id, basis, review_at, placed_at)
VALUES (%(tenant)s, %(hold_id)s, %(subject)s, %(record_id)s, %(basis)s, %(review_at)s, %(now)s)

-- name: all
-- The holds of one company, those to be reviewed first; external_id is NULL once the person is forgotten.
SELECT h.hold_id, h.subject_key, h.record_id, h.basis, h.review_at, h.placed_at, s.external_id,
       (SELECT count(*) FROM olvido.held_records r WHERE r.tenant_id = %(tenant)s AND r.hold_id = h.hold_id) AS kept
  FROM olvido.legal_holds h
  LEFT JOIN olvido.subjects s ON s.tenant_id = h.tenant_id AND s.subject_key = h.subject_key
 WHERE h.tenant_id = %(tenant)s AND (%(hold_id)s::uuid IS NULL OR h.hold_id = %(hold_id)s)
 ORDER BY h.review_at, h.hold_id

-- name: content
-- What one hold keeps, in the order in which it was removed.
SELECT relation, record_id, content, kept_at FROM olvido.held_records
 WHERE tenant_id = %(tenant)s AND hold_id = %(hold_id)s
 ORDER BY removal_id, relation, position

-- name: count_kept
-- How many rows one hold keeps, to read its release back.
SELECT count(*) AS rows FROM olvido.held_records WHERE tenant_id = %(tenant)s AND hold_id = %(hold_id)s

-- name: kept_elsewhere
-- What of one hold other holds of that life keep as well, of records and of whose they were: its end does not delete it.
SELECT DISTINCT h.hold_id, h.basis, h.review_at, r.record_id
  FROM olvido.legal_holds h
  JOIN olvido.held_records r ON r.tenant_id = h.tenant_id AND r.hold_id = h.hold_id
 WHERE h.tenant_id = %(tenant)s AND h.subject_key = %(subject)s AND h.hold_id <> %(hold_id)s AND r.tenant_id = %(tenant)s
   AND r.record_id IN (SELECT k.record_id FROM olvido.held_records k
                        WHERE k.tenant_id = %(tenant)s AND k.hold_id = %(hold_id)s)
 ORDER BY h.hold_id, r.record_id

-- name: kept_of_tenant
-- What holds keep of people of a company who were forgotten, apart from who they were.
SELECT DISTINCT h.hold_id, h.basis, h.review_at, r.record_id, r.relation
  FROM olvido.legal_holds h
  JOIN olvido.held_records r ON r.tenant_id = h.tenant_id AND r.hold_id = h.hold_id
 WHERE h.tenant_id = %(tenant)s AND r.tenant_id = %(tenant)s AND r.relation <> 'subjects'

-- name: drop_kept
-- Delete what some holds keep.
DELETE FROM olvido.held_records WHERE tenant_id = %(tenant)s AND hold_id = ANY(%(hold_ids)s)

-- name: drop
-- End some holds, whose rows are deleted already.
DELETE FROM olvido.legal_holds WHERE tenant_id = %(tenant)s AND hold_id = ANY(%(hold_ids)s)

-- name: standing_in_the_way
-- Whether a hold still keeps something of an erasure, so that its bytes cannot be gone: of the records of that life, or
-- of all of it (record_ids is empty). A session is named without its facts, which are held under ids of their own.
SELECT h.hold_id, h.review_at FROM olvido.legal_holds h
 WHERE h.tenant_id = %(tenant)s AND h.subject_key = %(life)s
   AND EXISTS (SELECT FROM olvido.held_records r
                WHERE r.tenant_id = %(tenant)s AND r.hold_id = h.hold_id
                  AND (cardinality(%(record_ids)s::uuid[]) = 0 OR r.record_id = ANY(%(record_ids)s)
                       OR (%(with_facts)s AND r.relation = 'session_facts')))
 ORDER BY h.review_at, h.hold_id
