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
-- Belong to a ledger from now on, with all that it has applied, unless this database belongs to one already.
INSERT INTO olvido.ledger_entries (ledger_id, entry, applied_at)
SELECT %(ledger)s, g.entry, clock_timestamp() FROM generate_series(0, %(last)s::bigint) AS g (entry)
 WHERE g.entry <> ALL(%(besides)s::bigint[]) AND NOT EXISTS (SELECT FROM olvido.ledger_entries WHERE entry = 0)
ON CONFLICT DO NOTHING

-- name: mark
-- Have some entries of a ledger from now on; 0 is to belong to it.
INSERT INTO olvido.ledger_entries (ledger_id, entry, applied_at)
SELECT %(ledger)s, entry, clock_timestamp() FROM unnest(%(entries)s::bigint[]) AS g (entry)
ON CONFLICT DO NOTHING

-- name: living
-- Which of some lives of one company are here.
SELECT subject_key FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = ANY(%(keys)s)

-- name: next_company
-- The company that this database ever had whose name follows another one.
SELECT tenant_id FROM olvido.sealing WHERE tenant_id > %(after)s ORDER BY tenant_id LIMIT 1

-- name: is_closed
-- Whether a company is closed.
SELECT tenant_id FROM olvido.tenants WHERE tenant_id = %(tenant)s AND closed_at IS NOT NULL

-- name: removals
-- What was forgotten in one company, as far as this database knows, after a position.
SELECT erasure_id, subject_key, record_ids, version FROM olvido.erasures
 WHERE tenant_id = %(tenant)s AND (%(after)s::uuid IS NULL OR erasure_id > %(after)s)
 ORDER BY erasure_id LIMIT %(batch)s

-- name: note_forgotten
-- Say in the audit that something was forgotten which is not here to be removed, so that an import still asks for consent.
INSERT INTO olvido.audit_log (tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
SELECT %(tenant)s, a.audit_id, a.subject_key, a.action, a.kind, a.record_id, '{}', %(policy_version)s, %(now)s
  FROM unnest(%(audit_ids)s::uuid[], %(keys)s::uuid[], %(actions)s::text[], %(kinds)s::text[], %(record_ids)s::uuid[])
       AS a (audit_id, subject_key, action, kind, record_id)

-- name: beyond
-- How many entries of a ledger this database has after a number.
SELECT count(*) AS entries FROM olvido.ledger_entries WHERE ledger_id = %(ledger)s AND entry > %(last)s

-- name: holds
-- Which of some ids are of legal holds of one company that stand here.
SELECT hold_id FROM olvido.legal_holds WHERE tenant_id = %(tenant)s AND hold_id = ANY(%(ids)s)
