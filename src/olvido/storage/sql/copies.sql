-- name: all
-- Every copy that a policy of this database ever declared.
SELECT name, kind, holder, retention_seconds, connector, last_declared_at FROM olvido.copies ORDER BY name

-- name: one
-- When a request was made, when the last byte of it left this database (NULL: not yet), and one copy as last declared.
SELECT e.requested_at,
       (SELECT CASE WHEN bool_and(s.settled_at IS NOT NULL) THEN max(s.settled_at) END FROM olvido.erasure_steps s
         WHERE s.tenant_id = %(tenant)s AND s.erasure_id = %(erasure_id)s AND s.step IN ('files', 'log')
           AND NOT EXISTS (SELECT FROM olvido.erasure_identifiers i
                            WHERE i.tenant_id = %(tenant)s AND i.erasure_id = %(erasure_id)s)) AS gone_here_at,
       c.name, c.kind, c.holder, c.retention_seconds, c.connector, c.last_declared_at
  FROM olvido.erasures e LEFT JOIN olvido.copies c ON c.name = %(name)s
 WHERE e.tenant_id = %(tenant)s AND e.erasure_id = %(erasure_id)s

-- name: note
-- Note that these copies are declared now, and how. One that another request is noting at this moment is left to it:
-- requests do not wait for each other here.
WITH given AS (
    SELECT * FROM unnest(%(names)s::text[], %(kinds)s::text[], %(holders)s::text[], %(retentions)s::bigint[],
                         %(connectors)s::text[]) AS g (name, kind, holder, retention_seconds, connector)
), free AS (
    SELECT c.name FROM olvido.copies c WHERE c.name = ANY(%(names)s::text[]) FOR UPDATE SKIP LOCKED
), noted AS (
    UPDATE olvido.copies c
       SET kind = g.kind, holder = g.holder, retention_seconds = g.retention_seconds, connector = g.connector,
           last_declared_at = greatest(c.last_declared_at, %(now)s)
      FROM given g JOIN free f ON f.name = g.name
     WHERE c.name = g.name
)
INSERT INTO olvido.copies (name, kind, holder, retention_seconds, connector, declared_at, last_declared_at)
SELECT g.name, g.kind, g.holder, g.retention_seconds, g.connector, %(now)s, %(now)s
  FROM given g WHERE NOT EXISTS (SELECT FROM olvido.copies c WHERE c.name = g.name)
 ORDER BY g.name
ON CONFLICT (name) DO NOTHING

-- name: target
-- Whom a copy outside is to erase; no row if no copy needs to be told any more.
SELECT e.subject_key, e.target, e.record_ids, e.requested_at, i.external_id
  FROM olvido.erasures e
  JOIN olvido.erasure_identifiers i ON i.tenant_id = e.tenant_id AND i.erasure_id = e.erasure_id
 WHERE e.tenant_id = %(tenant)s AND e.erasure_id = %(erasure_id)s
   AND i.tenant_id = %(tenant)s AND i.erasure_id = %(erasure_id)s

-- name: step
-- One copy of one request.
SELECT * FROM olvido.erasure_steps
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND step = %(step)s

-- name: lock_request
-- Let one worker at a time settle copies of a request: the last one sees that it is.
SELECT step FROM olvido.erasure_steps
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND step = 'rows'
   FOR NO KEY UPDATE

-- name: confirm
-- Settle one copy by the word of a person, unless it is settled.
UPDATE olvido.erasure_steps
   SET status = %(status)s, evidence = evidence || %(evidence)s, blocker = NULL, settled_at = %(now)s
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND step = %(step)s AND settled_at IS NULL

-- name: let_go
-- Delete the external id of a request once no copy is open that is found by it.
DELETE FROM olvido.erasure_identifiers i
 WHERE i.tenant_id = %(tenant)s AND i.erasure_id = %(erasure_id)s
   AND NOT EXISTS (
       SELECT FROM olvido.erasure_steps s JOIN olvido.copies c ON s.step = 'copy:' || c.name
        WHERE s.tenant_id = %(tenant)s AND s.erasure_id = %(erasure_id)s AND s.settled_at IS NULL
          AND c.connector IS NOT NULL)

-- name: begin_anew
-- Rewrite files and log once more: what was deleted meanwhile stood in them too. since: by which transaction.
UPDATE olvido.erasure_steps
   SET status = 'open', due_at = %(now)s, attempts = 0, blocker = NULL, settled_at = NULL,
       evidence = jsonb_set(evidence, '{since}', coalesce(evidence -> 'since', '{}') || jsonb_build_object(
           'erasure_identifiers', (pg_current_xact_id()::text::bigint + 1)::text))
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND step IN ('files', 'log')

-- name: begin_backups_anew
-- Wait for backups once more: those that were made until now may have what was deleted just now.
UPDATE olvido.erasure_steps
   SET status = 'open', due_at = %(now)s, attempts = 0, settled_at = NULL
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND level = 'E5' AND status = 'expired'
