-- name: forget
-- Delete the index entries of some records.
DELETE FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: differing_preferences
-- The next live preferences, in the order of their ids, that have no entry or one of another model or none.
-- OFFSET 0 has each entry looked up by its key. Without statistics on keys a join of the two looks cheap in any way, and
-- the one that is taken compares every record of the life with every entry.
SELECT * FROM olvido.preferences p
 WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
   AND (%(after)s::uuid IS NULL OR p.record_id > %(after)s)
   AND NOT EXISTS (
    SELECT FROM olvido.index_entries i
     WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND i.record_id = p.record_id
       AND i.lexer = %(lexer)s AND i.embedder = %(embedder)s AND vector_dims(i.embedding) = %(dimensions)s OFFSET 0)
 ORDER BY p.record_id LIMIT %(batch)s

-- name: differing_episodes
-- The same for episodes. lexers: by definition, for the words of the fields that the policy makes searchable; what it does
-- not define stays as it is indexed.
SELECT * FROM olvido.episodes e
 WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
   AND (%(after)s::uuid IS NULL OR e.record_id > %(after)s)
   AND NOT EXISTS (
    SELECT FROM olvido.index_entries i
     WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s AND i.record_id = e.record_id
       AND starts_with(i.lexer, %(lexer)s) AND i.lexer = coalesce(%(lexers)s::jsonb ->> e.definition, i.lexer)
       AND i.embedder = %(embedder)s AND vector_dims(i.embedding) = %(dimensions)s OFFSET 0)
 ORDER BY e.record_id LIMIT %(batch)s

-- name: repair_preferences
-- Write the entries of preferences anew, where each is still there and says what was read. A preference that somebody
-- holds is being corrected or removed, and is passed over; who holds one here makes them wait until the entry stands.
-- `records` is a JSON array of objects; `words` and `embeddings` have one of it for each. An entry without a new vector
-- keeps the one that it has: whoever still uses that model finds it by it.
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
        jsonb_to_recordset(%(records)s) AS (
            record_id uuid, key text COLLATE "C", value jsonb, language text, word_count integer, identifiers text,
            timed boolean),
        unnest(%(words)b::sparsevec[]),
        unnest(%(embeddings)b::halfvec[])
    ) AS g (record_id, key, value, language, word_count, identifiers, timed, words, embedding)
), held AS MATERIALIZED (
    SELECT p.* FROM olvido.preferences p
     WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s AND p.record_id IN (SELECT record_id FROM given)
       AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
       FOR SHARE SKIP LOCKED
)
INSERT INTO olvido.index_entries (
    tenant_id, subject_key, record_id, kind, definition, purpose, origin_class, occurred_at, expires_at,
    language, lexer, words, word_count, identifiers, timed, embedder, embedding)
SELECT tenant_id, subject_key, record_id, 'preference', h.key, h.purpose, h.origin_class, h.said_at, h.expires_at,
       g.language, %(lexer)s, g.words, g.word_count, g.identifiers, g.timed,
       CASE WHEN g.embedding IS NOT NULL THEN %(embedder)s::text END, g.embedding
  FROM held h JOIN given g USING (record_id, key, value)
 ORDER BY record_id
ON CONFLICT (tenant_id, subject_key, record_id) DO UPDATE SET
    purpose = excluded.purpose, origin_class = excluded.origin_class, occurred_at = excluded.occurred_at,
    expires_at = excluded.expires_at, language = excluded.language, lexer = excluded.lexer, words = excluded.words,
    word_count = excluded.word_count, identifiers = excluded.identifiers, timed = excluded.timed,
    embedder = coalesce(excluded.embedder, index_entries.embedder),
    embedding = coalesce(excluded.embedding, index_entries.embedding)
 WHERE index_entries.lexer IS DISTINCT FROM excluded.lexer
    OR (excluded.embedder IS NOT NULL AND index_entries.embedder IS DISTINCT FROM excluded.embedder)
    OR vector_dims(index_entries.embedding) <> vector_dims(excluded.embedding)

-- name: repair_episodes
-- The same for episodes, which never change: one that was removed and stored again since it was read is another one.
-- `lexer` of a record says by which fields it is found as well.
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
        jsonb_to_recordset(%(records)s) AS (
            record_id uuid, recorded_at timestamptz, lexer text, word_count integer, identifiers text, product text,
            speaker text, timed boolean),
        unnest(%(words)b::sparsevec[]),
        unnest(%(embeddings)b::halfvec[])
    ) AS g (record_id, recorded_at, lexer, word_count, identifiers, product, speaker, timed, words, embedding)
), held AS MATERIALIZED (
    SELECT held.* FROM given g CROSS JOIN LATERAL (
        SELECT * FROM olvido.episodes e
         WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s AND e.record_id = g.record_id
           AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
           FOR KEY SHARE SKIP LOCKED) AS held
)
INSERT INTO olvido.index_entries (
    tenant_id, subject_key, record_id, kind, definition, purpose, case_id, status, origin_class, occurred_at,
    expires_at, language, lexer, words, word_count, identifiers, product, speaker, timed, embedder, embedding)
SELECT tenant_id, subject_key, record_id, 'episode', h.definition, h.purpose, h.case_id, h.status, h.origin_class,
       h.occurred_at, h.expires_at, h.language, g.lexer, g.words, g.word_count, g.identifiers, g.product, g.speaker,
       g.timed, CASE WHEN g.embedding IS NOT NULL THEN %(embedder)s::text END, g.embedding
  FROM held h JOIN given g USING (record_id, recorded_at)
 ORDER BY record_id
ON CONFLICT (tenant_id, subject_key, record_id) DO UPDATE SET
    definition = excluded.definition, purpose = excluded.purpose, case_id = excluded.case_id, status = excluded.status,
    origin_class = excluded.origin_class, occurred_at = excluded.occurred_at, expires_at = excluded.expires_at,
    language = excluded.language, words = excluded.words, word_count = excluded.word_count,
    -- A vector that stays is not done with if it may be of other fields. Its words are of these fields, so its old mark goes.
    lexer = CASE WHEN excluded.embedding IS NULL AND index_entries.embedding IS NOT NULL
                  AND substring(index_entries.lexer FROM '/.*') IS DISTINCT FROM substring(excluded.lexer FROM '/.*')
                 THEN %(lexer)s ELSE excluded.lexer END,
    identifiers = excluded.identifiers, product = excluded.product, speaker = excluded.speaker, timed = excluded.timed,
    embedder = coalesce(excluded.embedder, index_entries.embedder),
    embedding = coalesce(excluded.embedding, index_entries.embedding)
 WHERE index_entries.lexer IS DISTINCT FROM excluded.lexer
    OR (excluded.embedder IS NOT NULL AND index_entries.embedder IS DISTINCT FROM excluded.embedder)
    OR vector_dims(index_entries.embedding) <> vector_dims(excluded.embedding)
