-- name: record
-- Store an episode with its index entry, audit row and when the life is due, all at once; no row if its event is there.
WITH stored AS (
    INSERT INTO olvido.episodes (
        tenant_id, subject_key, record_id, definition, event_id, case_id, status, fields, language, purpose,
        untrusted, origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, recorded_at,
        expires_at, policy_version)
    VALUES (%(tenant)s, %(subject)s, %(record_id)s, %(definition)s, %(event_id)s, %(case_id)s, %(status)s, %(fields)s,
            %(language)s, %(purpose)s, %(untrusted)s, %(origin_class)s, %(origin_source)s, %(origin_ref)s,
            %(origin_actor)s, %(origin_at)s, %(occurred_at)s, %(now)s, %(expires_at)s, %(policy_version)s)
    ON CONFLICT (tenant_id, subject_key, definition, event_id) DO NOTHING
    RETURNING *
), entry AS (
    INSERT INTO olvido.index_entries (
        tenant_id, subject_key, record_id, kind, definition, purpose, case_id, status, origin_class, occurred_at,
        expires_at, language, lexer, words, word_count, identifiers, product, speaker, timed, embedder, embedding)
    SELECT tenant_id, subject_key, record_id, 'episode', definition, purpose, case_id, status, origin_class,
           occurred_at, expires_at, language, %(lexer)s, %(words)s, %(word_count)s, %(identifiers)s, %(product)s,
           %(speaker)s, %(timed)s, %(embedder)s, %(embedding)s::halfvec
      FROM stored
), marked AS (
    -- A worker looks at this life again if what it holds is of another model, or of none. A life that is unfinished with
    -- this model is looked at anyway, by who began it.
    UPDATE olvido.lives SET indexed_by = NULL, repair_after = '-infinity'
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND indexed_by <> coalesce(%(indexed_by)s::text, '')
       AND NOT (starts_with(indexed_by, coalesce(%(indexed_by)s::text, '')) AND indexed_by ~ ' (half|tried)$')
       AND EXISTS (SELECT FROM stored)
), due AS (
    INSERT INTO olvido.due (tenant_id, subject_key, next_due_at)
    SELECT tenant_id, subject_key, expires_at FROM stored WHERE expires_at IS NOT NULL
    ON CONFLICT (tenant_id, subject_key) DO UPDATE SET next_due_at = excluded.next_due_at
     WHERE due.next_due_at > excluded.next_due_at
), audit AS (
    INSERT INTO olvido.audit_log (
        tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
    SELECT tenant_id, %(audit_id)s, subject_key, 'recorded', 'episode', record_id, '{}', policy_version, recorded_at
      FROM stored
)
SELECT record_id FROM stored

-- name: record_many
-- The same for many episodes: those that are passed over, since their event is there.
-- `records` is a JSON array of objects; `words` and `embeddings` have one of it for each.
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
        jsonb_to_recordset(%(records)s) AS (
            record_id uuid, audit_id uuid, definition text, event_id text, case_id text, status text, fields jsonb,
            language text, purpose text, untrusted boolean, origin_class text, origin_source text, origin_ref text,
            origin_actor text, origin_at timestamptz, occurred_at timestamptz, expires_at timestamptz,
            lexer text, word_count integer, identifiers text, product text, speaker text, timed boolean),
        unnest(%(words)b::sparsevec[]),
        unnest(%(embeddings)b::halfvec[])
    ) AS g (record_id, audit_id, definition, event_id, case_id, status, fields, language, purpose, untrusted,
            origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, expires_at, lexer, word_count,
            identifiers, product, speaker, timed, words, embedding)
), stored AS (
    INSERT INTO olvido.episodes (
        tenant_id, subject_key, record_id, definition, event_id, case_id, status, fields, language, purpose,
        untrusted, origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, recorded_at,
        expires_at, policy_version)
    SELECT %(tenant)s, %(subject)s, record_id, definition, event_id, case_id, status, fields, language, purpose,
           untrusted, origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, %(now)s,
           expires_at, %(policy_version)s
      FROM given
    ON CONFLICT (tenant_id, subject_key, definition, event_id) DO NOTHING
    RETURNING *
), entry AS (
    INSERT INTO olvido.index_entries (
        tenant_id, subject_key, record_id, kind, definition, purpose, case_id, status, origin_class, occurred_at,
        expires_at, language, lexer, words, word_count, identifiers, product, speaker, timed, embedder, embedding)
    SELECT tenant_id, subject_key, record_id, 'episode', s.definition, s.purpose, s.case_id, s.status, s.origin_class,
           s.occurred_at, s.expires_at, s.language, g.lexer, g.words, g.word_count, g.identifiers, g.product,
           g.speaker, g.timed, CASE WHEN g.embedding IS NOT NULL THEN %(embedder)s::text END, g.embedding
      FROM stored s JOIN given g USING (record_id)
), marked AS (
    -- A worker looks at this life again if what it holds is of another model, or of none. A life that is unfinished with
    -- this model is looked at anyway, by who began it.
    UPDATE olvido.lives SET indexed_by = NULL, repair_after = '-infinity'
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND indexed_by <> coalesce(%(indexed_by)s::text, '')
       AND NOT (starts_with(indexed_by, coalesce(%(indexed_by)s::text, '')) AND indexed_by ~ ' (half|tried)$')
       AND EXISTS (SELECT FROM stored)
), due AS (
    INSERT INTO olvido.due (tenant_id, subject_key, next_due_at)
    SELECT %(tenant)s, %(subject)s, min(expires_at) FROM stored HAVING min(expires_at) IS NOT NULL
    ON CONFLICT (tenant_id, subject_key) DO UPDATE SET next_due_at = excluded.next_due_at
     WHERE due.next_due_at > excluded.next_due_at
), audit AS (
    INSERT INTO olvido.audit_log (
        tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
    SELECT tenant_id, audit_id, subject_key, 'recorded', 'episode', record_id, '{}', policy_version, recorded_at
      FROM stored JOIN (SELECT record_id, audit_id FROM given) AS g USING (record_id)
)
SELECT record_id FROM given WHERE record_id NOT IN (SELECT record_id FROM stored)

-- name: by_event
-- The stored episode of one event, live or expired, locked until the transaction ends.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND definition = %(definition)s
   AND event_id = %(event_id)s
   FOR UPDATE

-- name: by_events
-- The live episodes of some events.
SELECT e.* FROM olvido.episodes e
  JOIN unnest(%(definitions)s::text[], %(event_ids)s::text[]) AS g (definition, event_id)
    ON e.definition = g.definition AND e.event_id = g.event_id
 WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s)

-- name: get
-- One episode by record id, unless it is expired.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
   AND (expires_at IS NULL OR expires_at > %(now)s)

-- name: page
-- The newest live episodes after a position, newest first; one more than a page, to know whether there are more.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (expires_at IS NULL OR expires_at > %(now)s)
   AND (%(definition)s::text IS NULL OR definition = %(definition)s)
   AND (%(case_id)s::text IS NULL OR case_id = %(case_id)s)
   AND (%(status)s::text IS NULL OR status = %(status)s)
   AND (%(before_at)s::timestamptz IS NULL
        OR (occurred_at, record_id) < (%(before_at)s::timestamptz, %(before_id)s::uuid))
 ORDER BY occurred_at DESC, record_id DESC
 LIMIT %(size)s

-- name: forget
-- Delete some episodes.
DELETE FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: expired
-- Episodes that expired, locked; those that a writer holds are left for the next batch.
SELECT record_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at <= %(now)s
 LIMIT %(batch)s FOR UPDATE SKIP LOCKED

-- name: last_of_cases
-- The newest live report of each of some cases, for one purpose, and how many live reports that case has.
SELECT DISTINCT ON (e.definition, e.case_id) e.*, count(*) OVER (PARTITION BY e.definition, e.case_id) AS reports
  FROM olvido.episodes e
 WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND e.purpose = %(purpose)s
   AND (e.definition, e.case_id) IN (SELECT * FROM unnest(%(definitions)s::text[], %(case_ids)s::text[]))
 ORDER BY e.definition, e.case_id, e.occurred_at DESC, e.record_id DESC
