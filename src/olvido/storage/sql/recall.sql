-- name: scan
-- What ranking reads of every eligible record, as arrays in one order: keys and numbers, nothing that was said.
WITH eligible AS NOT MATERIALIZED (
    SELECT e.record_id, e.kind, e.definition, e.case_id, e.origin_class, e.occurred_at, e.identifiers, e.speaker, e.timed,
           -- LIKE, because starts_with copies what it compares.
           CASE WHEN e.lexer LIKE %(lexer)s || '%%' THEN e.words END AS words, e.word_count,
           CASE WHEN e.embedder = %(embedder)s::text AND vector_dims(e.embedding) = %(dimensions)s::integer
                THEN e.embedding END AS embedding
      FROM olvido.index_entries e
     WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
       AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
       AND e.purpose = %(purpose)s
       AND (%(kinds)s::text[] IS NULL OR e.kind = ANY(%(kinds)s::text[]))
       AND (e.kind = 'preference' OR (
               (%(definition)s::text IS NULL OR e.definition = %(definition)s)
           AND (%(case_id)s::text IS NULL OR e.case_id = %(case_id)s)
           AND (%(product)s::text IS NULL OR e.product = %(product)s)
           AND (%(status)s::text IS NULL OR e.status = %(status)s)
           AND (%(origin_class)s::text IS NULL OR e.origin_class = %(origin_class)s)
           AND (%(since)s::timestamptz IS NULL OR e.occurred_at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR e.occurred_at < %(until)s)))
),
-- What all vectors have in common says nothing: it is taken out of the question, and so out of every inner product.
newest AS MATERIALIZED (
    SELECT count(*) AS vectors, sum(embedding::vector) AS total
      FROM (SELECT DISTINCT embedding
              FROM (SELECT embedding FROM eligible WHERE embedding IS NOT NULL
                     ORDER BY record_id DESC LIMIT %(centre_sample)s) AS n
             ORDER BY embedding) AS d
),
asked AS MATERIALIZED (
    SELECT direction::halfvec AS direction, -(mean <#> direction) AS shift,
           -- The root mean square of |d - m| over the newest vectors, all of length 1, stands for each of them.
           1 / nullif(vector_norm(direction)
                      * sqrt(greatest(1 + 2 * (mean <#> total) / vectors + vector_norm(mean) ^ 2, 0)), 0) AS scale
      FROM (SELECT vectors, total, mean, %(vector)s::vector - mean AS direction
              FROM (SELECT vectors, total,
                           (total + %(centre)s::vector) * array_fill(
                               (1 / (vectors + %(centre_weight)s::float8))::real, ARRAY[%(dimensions)s::integer]
                           )::vector AS mean
                      FROM newest WHERE vectors > 0 OFFSET 0) AS m OFFSET 0) AS q
)
SELECT array_agg(e.record_id) AS record_id,
       array_agg(coalesce(hashtextextended(e.case_id, hashtext(e.definition)), 0)) AS "case",
       array_agg(e.occurred_at) AS occurred_at,
       array_agg(CASE WHEN e.words IS NULL THEN 0 ELSE e.word_count END) AS length,
       -- How often the record has each word of the question, four bits a word: the question gives word i of a product
       -- the weight 16 ** i, and a float4, exact to 24 bits, holds six such words.
       array_agg(coalesce(
           CASE WHEN %(asked)s > 0 THEN (-(e.words <#> %(words_0)s))::bigint END
         + CASE WHEN %(asked)s > 6 THEN (-(e.words <#> %(words_1)s))::bigint << 24 ELSE 0 END
         + CASE WHEN %(asked)s > 12 THEN (-(e.words <#> %(words_2)s))::bigint << 48 ELSE 0 END, -1)) AS hits,
       array_agg(coalesce(
           (-(e.embedding <#> (SELECT direction FROM asked)) - (SELECT shift FROM asked)) * (SELECT scale FROM asked), 'NaN')) AS sem,
       array_agg((e.kind = 'preference')::integer
               + CASE WHEN e.embedding IS NULL OR e.words IS NULL THEN 2 ELSE 0 END
               -- What the question does not have is known when this is planned, and then costs nothing a record.
               + CASE WHEN %(fragments)s::text <> '' AND e.identifiers <> ''
                       AND e.identifiers LIKE ANY(string_to_array(%(fragments)s::text, E'\n')) THEN 4 ELSE 0 END
               + CASE WHEN e.timed THEN 8 ELSE 0 END
               + CASE WHEN %(names)s::text <> '' AND e.speaker = ANY(string_to_array(%(names)s::text, E'\n'))
                      THEN 16 ELSE 0 END
               + CASE e.origin_class WHEN 'declared' THEN 96 WHEN 'observed' THEN 64 ELSE 32 END
               + CASE WHEN %(definitions)s::text[] = '{}' THEN 0
                      ELSE coalesce(array_position(%(definitions)s::text[], e.definition), 0) * 128 END) AS flags
  -- Once a record: without the offset, what an expression above names is worked out anew each time.
  FROM (SELECT * FROM eligible OFFSET 0) AS e

-- name: shown
-- The current preferences, always all of them, and the episodes that ranking chose, as they are stored; `key` tells them
-- apart. Each episode is looked up by its key: for `record_id = ANY` the planner, without statistics, reads them all.
SELECT record_id, purpose, origin_class, origin_source, origin_ref, origin_actor, origin_at, recorded_at, expires_at,
       policy_version, key, value, version, said_at, created_at, NULL AS definition, NULL AS event_id, NULL AS case_id,
       NULL AS status, NULL::jsonb AS fields, NULL AS language, NULL::boolean AS untrusted,
       NULL::timestamptz AS occurred_at
  FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s AND %(offered)s::boolean
UNION ALL
SELECT e.record_id, e.purpose, e.origin_class, e.origin_source, e.origin_ref, e.origin_actor, e.origin_at, e.recorded_at,
       e.expires_at, e.policy_version, NULL, NULL, NULL, NULL, NULL, e.definition, e.event_id, e.case_id,
       e.status, e.fields, e.language, e.untrusted, e.occurred_at
  FROM unnest(%(record_ids)s::uuid[]) AS chosen (record_id) CROSS JOIN LATERAL (
    SELECT * FROM olvido.episodes
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = chosen.record_id
       AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s
    OFFSET 0) AS e

-- name: mentioning
-- The newest episodes that have one of some words, or the next ones after one; the caller looks closer. Each is looked up
-- by its key, as in `shown`.
SELECT e.*
  FROM (SELECT i.record_id FROM olvido.index_entries i
         WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s
           AND (i.expires_at IS NULL OR i.expires_at > %(now)s)
           AND i.purpose = %(purpose)s AND i.kind = 'episode'
           AND starts_with(i.lexer, %(lexer)s) AND i.words <#> %(words)s < 0
           AND (%(before_at)s::timestamptz IS NULL OR i.occurred_at < %(before_at)s
                OR (i.occurred_at = %(before_at)s AND i.record_id > %(before_id)s::uuid))
         ORDER BY i.occurred_at DESC, i.record_id LIMIT %(size)s) AS found CROSS JOIN LATERAL (
    SELECT * FROM olvido.episodes
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = found.record_id
       AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s
    OFFSET 0) AS e
 ORDER BY e.occurred_at DESC, e.record_id

-- name: summaries
-- The live summaries of some cases.
SELECT s.* FROM olvido.summaries s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND (s.expires_at IS NULL OR s.expires_at > %(now)s)
   AND (s.definition, s.case_id) IN (SELECT * FROM unnest(%(definitions)s::text[], %(case_ids)s::text[]))

-- name: summary_entries
-- The episodes that some summaries refer to and that are kept for this purpose, oldest first.
SELECT r.summary_id, r.episode_id, e.event_id, e.status, e.occurred_at, e.origin_class, e.origin_source,
       e.origin_ref, e.origin_actor, e.origin_at
  FROM olvido.summary_sources r CROSS JOIN LATERAL (
    SELECT * FROM olvido.episodes
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = r.episode_id
       AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s
    OFFSET 0) AS e
 WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = ANY(%(record_ids)s::uuid[])
 ORDER BY e.occurred_at, e.record_id
