-- name: claim
-- Take the next life whose index may have entries of another model or of none, and be alone at it until an instant.
-- First a life that is half done with this model, then those that nobody tried at `tried_before` or later, of any model or
-- with this one, then those that are of another model, wholly or in part, and were not made so at `made_before` or later,
-- which would be the work of a worker that runs beside this one. The index finds one of each without looking at the others.
-- A life of another model is of several from here on. half, tried: what `leave` notes for this model.
WITH half AS MATERIALIZED (
    SELECT tenant_id, subject_key FROM olvido.lives
     WHERE indexed_by = %(half)s
     ORDER BY indexed_by, repair_after LIMIT 1 FOR UPDATE SKIP LOCKED
), waiting AS MATERIALIZED (
    SELECT tenant_id, subject_key FROM olvido.lives
     WHERE NOT EXISTS (SELECT FROM half)
       AND indexed_by IS NULL AND repair_after < %(tried_before)s
     ORDER BY indexed_by, repair_after LIMIT 1 FOR UPDATE SKIP LOCKED
), tried AS MATERIALIZED (
    SELECT tenant_id, subject_key FROM olvido.lives
     WHERE NOT EXISTS (SELECT FROM half) AND NOT EXISTS (SELECT FROM waiting)
       AND indexed_by = %(tried)s AND repair_after < %(tried_before)s
     ORDER BY indexed_by, repair_after LIMIT 1 FOR UPDATE SKIP LOCKED
), before AS MATERIALIZED (
    SELECT tenant_id, subject_key FROM olvido.lives
     WHERE NOT EXISTS (SELECT FROM half) AND NOT EXISTS (SELECT FROM waiting) AND NOT EXISTS (SELECT FROM tried)
       AND indexed_by < %(indexed_by)s AND repair_after < coalesce(%(made_before)s::timestamptz, 'infinity')
     ORDER BY indexed_by, repair_after LIMIT 1 FOR UPDATE SKIP LOCKED
), after AS MATERIALIZED (
    SELECT tenant_id, subject_key FROM olvido.lives
     WHERE NOT EXISTS (SELECT FROM half) AND NOT EXISTS (SELECT FROM waiting) AND NOT EXISTS (SELECT FROM tried)
       AND NOT EXISTS (SELECT FROM before)
       AND indexed_by > %(tried)s AND repair_after < coalesce(%(made_before)s::timestamptz, 'infinity')
     ORDER BY indexed_by, repair_after LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE olvido.lives l SET indexed_by = NULL, repair_after = %(until)s
  FROM (SELECT * FROM half UNION ALL SELECT * FROM waiting UNION ALL SELECT * FROM tried UNION ALL SELECT * FROM before
        UNION ALL SELECT * FROM after) AS next
 WHERE l.tenant_id = next.tenant_id AND l.subject_key = next.subject_key
RETURNING l.tenant_id, l.subject_key

-- name: hold
-- Go on being alone at this life until an instant.
UPDATE olvido.lives SET repair_after = %(until)s WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: leave
-- Note which model this life is unfinished with, and since when, so that a worker with another one does not undo what is done.
UPDATE olvido.lives SET indexed_by = %(unfinished)s, repair_after = %(now)s
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: set_aside
-- Never look at this life again: it is about to be forgotten.
UPDATE olvido.lives SET indexed_by = NULL, repair_after = 'infinity'
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: settle
-- Note what every entry of this life is made by, and when that was seen; no row if it is not so. Only for who holds the life
-- alone: nothing is written meanwhile that this would not have seen. OFFSET 0 as in `index_entries.differing_preferences`.
UPDATE olvido.lives SET indexed_by = %(indexed_by)s, repair_after = %(now)s
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND NOT EXISTS (
    SELECT FROM olvido.preferences p
     WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
       AND NOT EXISTS (
        SELECT FROM olvido.index_entries i
         WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND i.record_id = p.record_id
           AND i.lexer = %(lexer)s AND i.embedder = %(embedder)s AND vector_dims(i.embedding) = %(dimensions)s OFFSET 0))
   AND NOT EXISTS (
    SELECT FROM olvido.episodes e
     WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
       AND NOT EXISTS (
        SELECT FROM olvido.index_entries i
         WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND i.record_id = e.record_id
           AND starts_with(i.lexer, %(lexer)s) AND i.lexer = coalesce(%(lexers)s::jsonb ->> e.definition, i.lexer)
           AND i.embedder = %(embedder)s AND vector_dims(i.embedding) = %(dimensions)s OFFSET 0))

-- name: waiting
-- How many lives may have index entries of another model or of none, without those set aside; contested: of these, how many
-- are of another model, wholly or in part, since `made_before`.
SELECT ((SELECT count(*) FROM olvido.lives WHERE indexed_by IS NULL AND repair_after < 'infinity')
      + (SELECT count(*) FROM olvido.lives WHERE indexed_by < %(indexed_by)s)
      + (SELECT count(*) FROM olvido.lives WHERE indexed_by > %(indexed_by)s))::integer AS lives,
       ((SELECT count(*) FROM olvido.lives WHERE indexed_by < %(indexed_by)s AND repair_after >= %(made_before)s::timestamptz)
      + (SELECT count(*) FROM olvido.lives WHERE indexed_by > %(tried)s AND repair_after >= %(made_before)s::timestamptz)
       )::integer AS contested

-- name: unrepaired
-- The same count for a look that knows the model and no policy, without the companies that are about to be forgotten. The
-- last word of `indexed_by` is that of the policy, or says that the life is unfinished.
SELECT count(*)::integer AS lives FROM olvido.lives
 WHERE (CASE WHEN indexed_by IS NULL THEN repair_after < 'infinity'
             ELSE regexp_replace(indexed_by, ' [^ ]*$', '') <> %(made_by)s END)
   AND tenant_id <> ALL(%(closed)s::text[])

-- name: doubt
-- Forget of some lives what their entries are made by, so that a worker looks: for a database restored without them. A life
-- that is locked is with another worker, who looks at it anyway or doubts it as well.
UPDATE olvido.lives l SET indexed_by = NULL, repair_after = '-infinity'
  FROM (SELECT tenant_id, subject_key FROM olvido.lives WHERE indexed_by IS NOT NULL
         LIMIT %(batch)s FOR UPDATE SKIP LOCKED) AS noted
 WHERE l.tenant_id = noted.tenant_id AND l.subject_key = noted.subject_key AND l.indexed_by IS NOT NULL
