-- name: marks
-- Which ledgers this database belongs to, and how much it has of one of them, besides what that one has not applied.
SELECT ARRAY(SELECT ledger_id FROM olvido.ledger_entries WHERE entry = 0) AS ledgers,
       (SELECT count(*) FROM olvido.ledger_entries
         WHERE ledger_id = %(ledger)s AND entry BETWEEN 1 AND %(last)s
           AND entry <> ALL(%(besides)s::bigint[])) AS applied,
       (SELECT coalesce(max(entry), 0) FROM olvido.ledger_entries WHERE ledger_id = %(ledger)s) AS newest

-- name: has
-- How many of some entries this database has; a connection to a server that was put back has too few.
SELECT count(*) AS applied FROM olvido.ledger_entries
 WHERE ledger_id = %(ledger)s AND entry = ANY(%(entries)s::bigint[])

-- name: missing
-- Entries up to a number that this database lacks, besides those that are not applied, in their order after a position.
SELECT g.entry FROM generate_series(%(after)s::bigint + 1, %(last)s::bigint) AS g (entry)
 WHERE g.entry <> ALL(%(besides)s::bigint[])
   AND NOT EXISTS (SELECT FROM olvido.ledger_entries e WHERE e.ledger_id = %(ledger)s AND e.entry = g.entry)
 ORDER BY g.entry LIMIT %(batch)s

-- name: inhabited
-- Whether anybody is remembered here, as a worker may see.
SELECT EXISTS (SELECT FROM olvido.lives) AS inhabited

-- name: adoption_queue
-- Let whoever gives this database to a ledger finish, and be next: no tenant has this name.
SELECT olvido.queue('', true)

-- name: adopt
-- Belong to a ledger from now on, unless this database belongs to one already.
INSERT INTO olvido.ledger_entries (ledger_id, entry, applied_at)
SELECT %(ledger)s, 0, clock_timestamp() WHERE NOT EXISTS (SELECT FROM olvido.ledger_entries WHERE entry = 0)
ON CONFLICT DO NOTHING

-- name: mark
-- Have some entries of a ledger from now on; 0 is to belong to it. Those that were not there before.
INSERT INTO olvido.ledger_entries (ledger_id, entry, applied_at)
SELECT %(ledger)s, entry, clock_timestamp() FROM unnest(%(entries)s::bigint[]) AS g (entry)
ON CONFLICT DO NOTHING
RETURNING entry

-- name: marked
-- Which of some entries of a ledger this database has.
SELECT entry FROM olvido.ledger_entries WHERE ledger_id = %(ledger)s AND entry = ANY(%(entries)s::bigint[])
 ORDER BY entry

-- name: living
-- Which of some lives of one company are here, and whose they are.
SELECT subject_key, external_id FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = ANY(%(keys)s)

-- name: next_company
-- The company that this database ever had whose name follows another one.
SELECT tenant_id FROM olvido.sealing WHERE tenant_id > %(after)s ORDER BY tenant_id LIMIT 1

-- name: is_closed
-- Whether a company is closed.
SELECT tenant_id FROM olvido.tenants WHERE tenant_id = %(tenant)s AND closed_at IS NOT NULL

-- name: removals
-- What was forgotten in one company, as far as this database knows, after a position.
SELECT erasure_id, subject_key, target, record_ids, version, requested_at,
       ARRAY(SELECT DISTINCT l.record_id FROM olvido.audit_log l
              WHERE l.tenant_id = %(tenant)s AND l.subject_key = e.subject_key AND l.action = 'imported'
                AND l.kind = 'subject' AND cardinality(e.record_ids) = 0 ORDER BY l.record_id) AS took_in
  FROM olvido.erasures e
 WHERE tenant_id = %(tenant)s AND (%(after)s::uuid IS NULL OR erasure_id > %(after)s)
 ORDER BY erasure_id LIMIT %(batch)s

-- name: note_forgotten
-- Say in the audit that something was forgotten which is not here to be removed, so that an import still asks for consent,
-- and which exports a forgotten life took in, unless the audit says so already.
INSERT INTO olvido.audit_log (tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
SELECT %(tenant)s, a.audit_id, a.subject_key, a.action, a.kind, a.record_id, '{}', %(policy_version)s, %(now)s
  FROM unnest(%(audit_ids)s::uuid[], %(keys)s::uuid[], %(actions)s::text[], %(kinds)s::text[], %(record_ids)s::uuid[])
       AS a (audit_id, subject_key, action, kind, record_id)
 WHERE a.action <> 'imported'
    OR NOT EXISTS (SELECT FROM olvido.audit_log l
                    WHERE l.tenant_id = %(tenant)s AND l.subject_key = a.subject_key AND l.action = 'imported'
                      AND l.kind = a.kind AND l.record_id = a.record_id)

-- name: is_asked
-- Whether a company has a request by this id.
SELECT erasure_id FROM olvido.erasures WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s

-- name: ask_again
-- Follow up requests of which nothing is here to be removed, under their ids, unless this database has them. external:
-- the id by which copies outside are found, where the person is here. noted: what the step of its rows says.
WITH requests AS (
    SELECT * FROM jsonb_to_recordset(%(requests)s::jsonb)
        AS r (erasure_id uuid, subject_key uuid, target text, record_ids uuid[], version integer, ledger_entry bigint,
              plan_hash text, requested_at timestamptz, external text)
), asked AS (
    INSERT INTO olvido.erasures (tenant_id, erasure_id, subject_key, target, record_ids, version, ledger_entry,
                                 plan_hash, planned, removed, held, requested_at, removed_by, policy_version)
    SELECT %(tenant)s, r.erasure_id, r.subject_key, r.target, r.record_ids, r.version, r.ledger_entry, r.plan_hash,
           '{}', '{}', 0, r.requested_at, pg_current_xact_id(), %(policy_version)s
      FROM requests r
    ON CONFLICT DO NOTHING
    RETURNING erasure_id
), named AS (
    INSERT INTO olvido.erasure_identifiers (tenant_id, erasure_id, external_id)
    SELECT %(tenant)s, a.erasure_id, r.external FROM asked a JOIN requests r USING (erasure_id)
     WHERE r.external IS NOT NULL
)
INSERT INTO olvido.erasure_steps (tenant_id, erasure_id, step, level, kind, holder, status, attempts, due_at, deadline,
                                  evidence)
SELECT %(tenant)s, s.erasure_id, s.step, s.level, s.kind, s.holder, s.status, 0, s.due_at, s.deadline,
       CASE WHEN s.step = 'rows' THEN %(noted)s::jsonb ELSE '{}' END
  FROM asked a
  JOIN jsonb_to_recordset(%(steps)s::jsonb)
       AS s (erasure_id uuid, step text, level text, kind text, holder text, status text, due_at timestamptz,
             deadline timestamptz) USING (erasure_id)

-- name: beyond
-- How many entries of a ledger this database has after a number.
SELECT count(*) AS entries FROM olvido.ledger_entries WHERE ledger_id = %(ledger)s AND entry > %(last)s

-- name: holds
-- Which of some ids are of legal holds of one company that stand here.
SELECT hold_id FROM olvido.legal_holds WHERE tenant_id = %(tenant)s AND hold_id = ANY(%(ids)s)
