-- name: claim
-- Take the company whose audit waits longest for a look, and leave it to whoever took it until an instant.
UPDATE olvido.sealing s SET due_at = %(until)s
  FROM (SELECT tenant_id FROM olvido.sealing WHERE due_at <= %(now)s
         ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED) AS next
 WHERE s.tenant_id = next.tenant_id
RETURNING s.tenant_id

-- name: set_right
-- Have companies looked at now that are due later than anything is: a clock was ahead when that was written.
UPDATE olvido.sealing SET due_at = %(now)s WHERE due_at > %(now)s::timestamptz + %(latest)s::interval

-- name: companies
-- The companies whose audit is sealed, in the order of their names, after a position.
SELECT tenant_id FROM olvido.sealing WHERE tenant_id > %(after)s ORDER BY tenant_id LIMIT %(batch)s

-- name: lock
-- Be the only one who seals this company, until the transaction ends.
SELECT tenant_id FROM olvido.sealing WHERE tenant_id = %(tenant)s FOR UPDATE

-- name: head
-- The last seal of a company, if there is one, and the instant of this one as JSON has it.
SELECT coalesce(s.seal, 0) AS seal, s.digest, to_jsonb(%(now)s::timestamptz) #>> '{}' AS now
  FROM (VALUES (1)) AS one LEFT JOIN LATERAL (
    SELECT seal, digest FROM olvido.audit_seals WHERE tenant_id = %(tenant)s ORDER BY seal DESC LIMIT 1) AS s ON true

-- name: unsealed
-- Committed rows that no seal is over, the oldest ids first: each as JSON of all its columns but the seal. at: NULL where
-- somebody wrote what is no instant of a calendar.
SELECT audit_id, CASE WHEN isfinite(at) AND extract(year FROM at) BETWEEN 1 AND 9998 THEN at END AS at, jsonb_build_object(
           'tenant_id', tenant_id, 'audit_id', audit_id, 'subject_key', subject_key, 'action', action, 'kind', kind,
           'record_id', record_id, 'counts', counts, 'policy_version', policy_version, 'at', at)::text AS row
  FROM olvido.audit_log WHERE tenant_id = %(tenant)s AND seal IS NULL ORDER BY audit_id LIMIT %(batch)s

-- name: mark
-- Put rows under a seal.
UPDATE olvido.audit_log SET seal = %(seal)s
 WHERE tenant_id = %(tenant)s AND audit_id = ANY(%(audit_ids)s) AND seal IS NULL

-- name: insert
-- Write down a seal over a batch of rows.
INSERT INTO olvido.audit_seals (tenant_id, seal, rows, digest, previous, sealed_at)
VALUES (%(tenant)s, %(seal)s, %(rows)s, %(digest)s, %(previous)s, %(now)s)

-- name: rest
-- When to look at a company again: at once, or after a share of the time since its last row, within bounds.
UPDATE olvido.sealing SET due_at = CASE WHEN %(at_once)s THEN %(now)s::timestamptz ELSE
       %(now)s::timestamptz + least(%(latest)s::interval, greatest(%(soonest)s::interval, (%(now)s::timestamptz - (
           SELECT at FROM olvido.audit_log WHERE tenant_id = %(tenant)s ORDER BY audit_id DESC LIMIT 1
       )) / %(share)s)) END
 WHERE tenant_id = %(tenant)s

-- name: chain
-- Seals of a company after a number, in order, with the rows that name each: as `unsealed` has them, in the order of
-- their ids.
SELECT s.seal, s.rows, s.digest, s.previous, to_jsonb(s.sealed_at) #>> '{}' AS sealed_at, ARRAY(
           SELECT jsonb_build_object(
                      'tenant_id', l.tenant_id, 'audit_id', l.audit_id, 'subject_key', l.subject_key,
                      'action', l.action, 'kind', l.kind, 'record_id', l.record_id, 'counts', l.counts,
                      'policy_version', l.policy_version, 'at', l.at)::text
             FROM olvido.audit_log l WHERE l.tenant_id = %(tenant)s AND l.seal = s.seal ORDER BY l.audit_id) AS sealed
  FROM olvido.audit_seals s WHERE s.tenant_id = %(tenant)s AND s.seal > %(after)s ORDER BY s.seal LIMIT %(batch)s

-- name: strays
-- Rows of a company that name a seal which is not there.
SELECT l.seal, count(*)::integer AS rows FROM olvido.audit_log l
 WHERE l.tenant_id = %(tenant)s AND l.seal IS NOT NULL
   AND NOT EXISTS (SELECT FROM olvido.audit_seals s WHERE s.tenant_id = %(tenant)s AND s.seal = l.seal)
 GROUP BY l.seal

-- name: window
-- What no seal of a company is over yet; oldest_at: of the rows whose instant is one of a calendar.
SELECT count(*)::integer AS rows,
       min(at) FILTER (WHERE isfinite(at) AND extract(year FROM at) BETWEEN 1 AND 9998) AS oldest_at FROM olvido.audit_log
 WHERE tenant_id = %(tenant)s AND seal IS NULL
