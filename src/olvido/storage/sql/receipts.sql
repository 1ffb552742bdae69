-- name: request
-- What a receipt says of a request to forget.
SELECT erasure_id, subject_key, target, record_ids, version, ledger_entry, plan_hash, planned, removed, held,
       requested_at, policy_version
  FROM olvido.erasures WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s

-- name: steps
-- Where each copy stands, those of this database first.
SELECT step, level, kind, holder, status, attempts, deadline, blocker, evidence::text AS evidence, settled_at
  FROM olvido.erasure_steps WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s
 ORDER BY level, step
