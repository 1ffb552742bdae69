-- name: enter
-- Enter the scope, as Olvido does.
SELECT subject_key FROM olvido.enter_scope(%(tenant)s::text, %(external)s::text, NULL, %(lock)s::boolean)

-- name: record
-- One episode and nothing else: no index entry, no note of when it is due, no audit.
INSERT INTO olvido.episodes (
    tenant_id, subject_key, record_id, definition, event_id, fields, language, purpose, untrusted, origin_class,
    origin_source, occurred_at, recorded_at, expires_at, policy_version)
VALUES (%(tenant)s, %(subject)s, %(record_id)s, 'note', %(event_id)s, %(fields)s, 'en', 'support', true, 'declared',
        'remember-request', %(at)s, %(at)s, %(until)s, 'floor')

-- name: set
-- One current value and nothing else: no history, no judgement.
INSERT INTO olvido.preferences (
    tenant_id, subject_key, key, record_id, version, value, purpose, origin_class, origin_source, said_at,
    recorded_at, created_at, expires_at, policy_version)
VALUES (%(tenant)s, %(subject)s, %(key)s, %(record_id)s, 1, %(value)s, 'support', 'declared', 'floor', %(at)s, %(at)s,
        %(at)s, %(until)s, 'floor')
ON CONFLICT (tenant_id, subject_key, key) DO UPDATE
   SET version = preferences.version + 1, value = excluded.value, recorded_at = excluded.recorded_at

-- name: get
-- One current value.
SELECT * FROM olvido.preferences WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND key = %(key)s

-- name: nearest
-- The ten nearest vectors of the scope, exactly, and nothing else: no words, no preferences, no records.
SELECT record_id FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s ORDER BY embedding <#> %(vector)s::halfvec LIMIT 10

-- name: forget
-- Delete the episodes of the scope and nothing else: no other relation, no count, no read-back.
DELETE FROM olvido.episodes WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: import
-- Many episodes in one statement, and nothing else.
INSERT INTO olvido.episodes (
    tenant_id, subject_key, record_id, definition, event_id, fields, language, purpose, untrusted, origin_class,
    origin_source, occurred_at, recorded_at, expires_at, policy_version)
SELECT %(tenant)s, %(subject)s, r.record_id, 'note', r.event_id, jsonb_build_object('text', r.content), 'en',
       'support', true, 'declared', 'remember-request', %(at)s, %(at)s, %(until)s, 'floor'
  FROM unnest(%(record_ids)s::uuid[], %(event_ids)s::text[], %(contents)s::text[]) AS r (record_id, event_id, content)

-- name: sizes
-- Rows and bytes (heap, indexes and out-of-line storage) of episodes and their index entries; for the administrator.
SELECT (SELECT count(*) FROM olvido.episodes) AS records,
       sum(pg_total_relation_size(c.oid))::bigint AS bytes,
       current_setting('server_version') AS server
  FROM pg_class c
 WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^(episodes|index_entries)_[0-9]+$'

-- name: settle
-- Write out what is dirty and gather statistics, so that no later row pays for the filling.
CHECKPOINT

-- name: leaves
-- The parts of the large relations in which the company "acme" is, as text in one row.
SELECT string_agg(l.leaf, ' ' ORDER BY l.leaf) AS leaves
  FROM (SELECT DISTINCT tableoid::regclass::text AS leaf FROM olvido.episodes WHERE tenant_id = 'acme'
        UNION SELECT DISTINCT tableoid::regclass::text FROM olvido.index_entries WHERE tenant_id = 'acme') AS l

-- name: beside
-- Records in the files that are written anew when somebody at the company "acme" is forgotten.
SELECT count(*) AS records FROM olvido.episodes
 WHERE tableoid = (SELECT tableoid FROM olvido.episodes WHERE tenant_id = 'acme' LIMIT 1)
