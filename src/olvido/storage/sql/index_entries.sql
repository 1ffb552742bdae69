-- name: put
-- Write or replace the derived text and vector of one record.
INSERT INTO olvido.index_entries (
    tenant_id, subject_key, record_id, kind, definition, purpose, case_id, status, origin_class, occurred_at,
    expires_at, language, terms, term_count, embedder, embedding)
SELECT %(tenant)s, %(subject)s, %(record_id)s, %(kind)s, %(definition)s, %(purpose)s, %(case_id)s, %(status)s,
       %(origin_class)s, %(occurred_at)s, %(expires_at)s, %(language)s, l.terms, olvido.term_count(l.terms),
       %(embedder)s, %(embedding)s::halfvec
  FROM (SELECT olvido.lex(%(language)s, %(text)s) AS terms OFFSET 0) AS l
ON CONFLICT (tenant_id, subject_key, record_id) DO UPDATE SET
    purpose = excluded.purpose, status = excluded.status, origin_class = excluded.origin_class,
    occurred_at = excluded.occurred_at, expires_at = excluded.expires_at, language = excluded.language,
    terms = excluded.terms, term_count = excluded.term_count, embedder = excluded.embedder,
    embedding = excluded.embedding

-- name: forget
-- Delete the index entries of some records.
DELETE FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: state
-- Which embedder made the vector of one record; NULL means text only.
SELECT embedder FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
