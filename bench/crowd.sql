-- name: hurry
-- No look at foreign keys that hold by construction, and room for the model in memory, so that copies keep their order.
SELECT set_config('session_replication_role', 'replica', true), set_config('work_mem', '64MB', true)

-- name: people
-- Who is to have records, how many, and under which key.
CREATE TEMPORARY TABLE people AS
SELECT p.tenant_id, p.external_id, p.size, gen_random_uuid() AS subject_key
  FROM unnest(%(tenants)s::text[], %(names)s::text[], %(sizes)s::integer[]) AS p (tenant_id, external_id, size)

-- name: model
-- The records of the person they are copied from, numbered from 0, the newest first, as they were numbered when written.
CREATE TEMPORARY TABLE model AS
SELECT row_number() OVER (ORDER BY e.occurred_at DESC) - 1 AS place, e.record_id, s.subject_key, s.tenant_id
  FROM olvido.subjects s JOIN olvido.episodes e ON e.tenant_id = s.tenant_id AND e.subject_key = s.subject_key
 WHERE s.tenant_id = %(tenant)s AND s.external_id = %(name)s

-- name: copies
-- Each record to come, with the record it is a copy of: a new id, its case of twenty, and its minute.
CREATE TEMPORARY TABLE copies AS
SELECT p.tenant_id, p.subject_key, uuidv7() AS new_id, m.tenant_id AS model_tenant, m.subject_key AS model_key,
       m.record_id AS model_id, n AS number, 'case-' || n / 20 AS case_id,
       make_interval(mins => (n / t.total * t.total)::integer) AS earlier
  FROM (SELECT count(*) AS total FROM model) AS t
  CROSS JOIN people p CROSS JOIN LATERAL generate_series(0, p.size - 1) AS n
  JOIN model m ON m.place = n %% t.total

-- name: statistics
-- Let the planner know how many they are.
ANALYZE copies

-- name: tenants
-- Their companies.
INSERT INTO olvido.tenants (tenant_id, opened_at) SELECT DISTINCT tenant_id, now() FROM people ON CONFLICT DO NOTHING

-- name: subjects
-- Their lives.
INSERT INTO olvido.subjects (tenant_id, subject_key, external_id, created_at)
SELECT tenant_id, subject_key, external_id, now() FROM people

-- name: lives
-- What their records are indexed by, which is what those of the model are.
INSERT INTO olvido.lives (tenant_id, subject_key, indexed_by, repair_after)
SELECT p.tenant_id, p.subject_key, l.indexed_by, l.repair_after
  FROM people p CROSS JOIN (SELECT DISTINCT tenant_id, subject_key FROM model) AS m
  JOIN olvido.lives l ON l.tenant_id = m.tenant_id AND l.subject_key = m.subject_key

-- name: episodes
-- Copy the episodes.
INSERT INTO olvido.episodes (
    tenant_id, subject_key, record_id, definition, event_id, case_id, status, fields, language, purpose, untrusted,
    origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, recorded_at, expires_at,
    policy_version)
SELECT c.tenant_id, c.subject_key, c.new_id, e.definition, 'e' || c.number, c.case_id, e.status, e.fields, e.language,
       e.purpose, e.untrusted, e.origin_class, e.origin_source, e.origin_ref, e.origin_actor,
       e.origin_at - c.earlier, e.occurred_at - c.earlier, e.recorded_at, e.expires_at, e.policy_version
  FROM copies c
  JOIN olvido.episodes e
    ON e.tenant_id = c.model_tenant AND e.subject_key = c.model_key AND e.record_id = c.model_id

-- name: entries
-- Copy their index entries.
INSERT INTO olvido.index_entries (
    tenant_id, subject_key, record_id, kind, definition, purpose, case_id, status, origin_class, occurred_at,
    expires_at, language, embedder, embedding, lexer, words, word_count, identifiers, product, speaker, timed)
SELECT c.tenant_id, c.subject_key, c.new_id, i.kind, i.definition, i.purpose, c.case_id, i.status, i.origin_class,
       i.occurred_at - c.earlier, i.expires_at, i.language, i.embedder, i.embedding, i.lexer, i.words, i.word_count,
       i.identifiers, i.product, i.speaker, i.timed
  FROM copies c
  JOIN olvido.index_entries i
    ON i.tenant_id = c.model_tenant AND i.subject_key = c.model_key AND i.record_id = c.model_id

-- name: settle
-- Do now what the server would do on its own while something is measured.
VACUUM (ANALYZE) olvido.episodes, olvido.index_entries

-- name: vectors
-- All vectors of one person, for whoever searches them in memory.
SELECT i.embedding::vector AS embedding
  FROM olvido.subjects s JOIN olvido.index_entries i ON i.tenant_id = s.tenant_id AND i.subject_key = s.subject_key
 WHERE s.tenant_id = %(tenant)s AND s.external_id = %(name)s
