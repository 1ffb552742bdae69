-- name: rank
-- Every eligible record scored exactly (olvido.domain.ranking says how); the best episodes and all preferences.
WITH eligible AS NOT MATERIALIZED (
    -- Read three times below rather than stored once: the vectors of a large scope would spill to disk.
    SELECT e.record_id, e.kind, e.origin_class, e.occurred_at, e.language, e.terms, e.term_count::float8 AS length,
           CASE WHEN e.embedder = %(embedder)s::text AND vector_dims(e.embedding) = %(dimensions)s::integer
                THEN e.embedding END AS embedding
      FROM olvido.index_entries e
     WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
       AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
       AND e.purpose = %(purpose)s
       AND e.kind = ANY(%(kinds)s::text[])
       AND (e.kind = 'preference' OR (
               (%(definition)s::text IS NULL OR e.definition = %(definition)s)
           AND (%(case_id)s::text IS NULL OR e.case_id = %(case_id)s)
           AND (%(status)s::text IS NULL OR e.status = %(status)s)
           AND (%(origin_class)s::text IS NULL OR e.origin_class = %(origin_class)s)
           AND (%(since)s::timestamptz IS NULL OR e.occurred_at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR e.occurred_at < %(until)s)))
),
measures AS MATERIALIZED (
    SELECT count(*)::float8 AS records,
           count(*) FILTER (WHERE kind = 'episode') AS episodes,
           count(embedding) AS vectors,
           coalesce(nullif(avg(length), 0), 1) AS mean_length,
           sum(embedding::vector) AS total
      FROM eligible
),
-- The words of the question, once for the records of each language. Stop words of the question's own language count
-- nowhere: records of another language would not have dropped them, and they would weigh as rare words.
stops AS MATERIALIZED (
    SELECT lexeme FROM unnest(olvido.lex('other', %(query)s::text))
    EXCEPT
    SELECT lexeme FROM unnest(olvido.lex(%(language)s::text, %(query)s::text))
),
spoken AS MATERIALIZED (
    SELECT l.language, array_agg(w.lexeme) AS words
      FROM unnest(ARRAY['en', 'es', 'pt', 'other']) AS l (language),
           LATERAL unnest(olvido.lex(l.language, %(query)s::text)) AS w
     WHERE w.lexeme NOT IN (SELECT lexeme FROM stops)
     GROUP BY l.language
),
-- The words that a record shares with the question: mark them with a weight, keep what is marked.
hits AS MATERIALIZED (
    SELECT e.record_id, e.language, e.length, w.lexeme, cardinality(w.positions)::float8 AS frequency
      FROM eligible e JOIN spoken s ON s.language = e.language,
           LATERAL unnest(ts_filter(setweight(e.terms, 'A', s.words), '{a}')) AS w
),
rarity AS MATERIALIZED (
    SELECT s.language, s.lexeme, ln(1 + (m.records - s.df + 0.5::float8) / (s.df + 0.5::float8)) AS idf
      FROM (SELECT s.language, w.lexeme, coalesce(f.df, 0) AS df
              FROM spoken s CROSS JOIN LATERAL unnest(s.words) AS w (lexeme)
              LEFT JOIN (SELECT lexeme, count(*)::float8 AS df FROM hits GROUP BY lexeme) AS f
                ON f.lexeme = w.lexeme) AS s, measures m
),
bounds AS MATERIALIZED (
    SELECT language, sum(idf) AS most FROM rarity GROUP BY language
),
lexical AS MATERIALIZED (
    SELECT h.record_id,
           sum(r.idf * h.frequency / (h.frequency + %(k1)s::float8 * (
               1 - %(b)s::float8 + %(b)s::float8 * h.length / m.mean_length))) / max(b.most) AS lex
      FROM hits h JOIN rarity r ON r.language = h.language AND r.lexeme = h.lexeme
      JOIN bounds b ON b.language = h.language, measures m
     GROUP BY h.record_id
),
-- What all vectors have in common says nothing: it is taken out of the question and of the records.
middle AS MATERIALIZED (
    SELECT (coalesce(m.total + c.centre, c.centre) * array_fill(
               (1 / (m.vectors + %(centre_weight)s::float8))::real, ARRAY[%(dimensions)s::integer])::vector) AS mean
      FROM measures m,
           (SELECT %(centre)s::vector * array_fill(
                %(centre_weight)s::real, ARRAY[%(dimensions)s::integer])::vector AS centre) AS c
),
asked AS MATERIALIZED (
    SELECT mean::halfvec AS mean, direction, l2_norm(direction) AS size,
           -(mean::halfvec <#> direction) AS shift
      FROM (SELECT mean, (%(vector)s::vector - mean)::halfvec AS direction FROM middle OFFSET 0) AS q
),
parts AS MATERIALIZED (
    SELECT e.record_id, e.kind, e.occurred_at, coalesce(l.lex, 0) AS lex,
           -- (d - m) . (q - m) / (|d - m| |q - m|), without building d - m for every record
           CASE WHEN e.embedding IS NOT NULL THEN greatest(0, (-(e.embedding <#> e.direction) - e.shift)
                       / nullif((e.embedding <-> e.mean) * e.size, 0)) END AS sem,
           %(recency_weight)s::float8 * power(0.5::float8, least(1000, greatest(0,
               date_part('epoch', %(now)s::timestamptz - e.occurred_at) / %(half_life)s::float8))) AS recency,
           CASE e.origin_class WHEN 'declared' THEN %(declared)s::float8 WHEN 'observed' THEN %(observed)s::float8
                ELSE %(inferred)s::float8 END AS reliability
      -- Every l has its e. FULL, because a full join is never a nested loop: without statistics on these columns the
      -- planner would choose one, and it takes time with the square of the records.
      FROM (SELECT * FROM eligible CROSS JOIN asked) AS e FULL JOIN lexical l ON l.record_id = e.record_id
),
scored AS MATERIALIZED (
    SELECT p.record_id, p.kind, p.occurred_at, p.lex, p.sem, p.base, p.recency, p.reliability,
           -- Nine digits: sums of the same numbers in another order would decide between equals.
           round((p.base + p.recency + p.reliability) * 1e9) / 1e9 AS score
      FROM (SELECT *, round((%(text_weight)s::float8 * lex + %(meaning_weight)s::float8 * coalesce(sem, lex))
                            * 1e9) / 1e9 AS base FROM parts) AS p
)
SELECT m.episodes, m.records::bigint - m.vectors AS bare, b.*
  FROM measures m LEFT JOIN (
    (SELECT * FROM scored WHERE kind = 'episode' AND base >= %(floor)s::float8
      ORDER BY score DESC, occurred_at DESC, record_id LIMIT %(size)s)
    UNION ALL
    SELECT * FROM scored WHERE kind = 'preference'
  ) AS b ON true
 ORDER BY b.score DESC, b.occurred_at DESC, b.record_id

-- name: episodes
-- The episodes that ranking chose, as they are stored.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s::uuid[])
   AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s

-- name: preferences
-- The current preferences, always all of them: they are offered, not searched for.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s
 ORDER BY key

-- name: mentioning
-- The newest episodes that have one of some words; the caller looks closer.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND record_id IN (
    SELECT e.record_id FROM olvido.index_entries e
     WHERE e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
       AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
       AND e.purpose = %(purpose)s AND e.kind = 'episode'
       AND tsvector_to_array(e.terms) && %(words)s::text[]
     ORDER BY e.occurred_at DESC, e.record_id LIMIT %(size)s)
   AND (expires_at IS NULL OR expires_at > %(now)s) AND purpose = %(purpose)s
 ORDER BY occurred_at DESC, record_id

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
  FROM olvido.summary_sources r
  JOIN olvido.episodes e
    ON e.tenant_id = r.tenant_id AND e.subject_key = r.subject_key AND e.record_id = r.episode_id
 WHERE r.tenant_id = %(tenant)s AND r.subject_key = %(subject)s AND r.summary_id = ANY(%(record_ids)s::uuid[])
   AND e.tenant_id = %(tenant)s AND e.subject_key = %(subject)s
   AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND e.purpose = %(purpose)s
 ORDER BY e.occurred_at, e.record_id
