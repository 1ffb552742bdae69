-- name: forget
-- Delete the index entries of some records.
DELETE FROM olvido.index_entries
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
