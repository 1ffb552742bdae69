-- name: companies
-- Companies in which nothing ever happened, to be looked at.
WITH opened AS (
    INSERT INTO olvido.tenants (tenant_id, opened_at)
    SELECT 'quiet-' || number, now() FROM generate_series(1, %(companies)s) AS number
    RETURNING tenant_id
)
INSERT INTO olvido.sealing (tenant_id, due_at) SELECT tenant_id, '-infinity' FROM opened

-- name: rows
-- Rows of one company, as a write leaves them.
INSERT INTO olvido.audit_log (tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
SELECT 'busy', uuidv7(), gen_random_uuid(), 'written', 'note', gen_random_uuid(), '{"rows": 1}', 'sha256:0000000000000000',
       now() FROM generate_series(1, %(rows)s)
