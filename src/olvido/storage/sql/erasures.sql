-- name: write_down
-- What was asked and removed, its entry in the ledger, its steps, and the id by which copies outside are found; for
-- the transaction that removes it. noted: what the step of its rows says from the start.
WITH request AS (
    INSERT INTO olvido.erasures (tenant_id, erasure_id, subject_key, target, record_ids, version, ledger_entry,
                                 plan_hash, planned, removed, held, requested_at, removed_by, policy_version)
    VALUES (%(tenant)s, %(erasure_id)s, %(subject)s, %(target)s, %(record_ids)s, %(version)s, %(entry)s, %(plan_hash)s,
            %(planned)s, %(removed)s, %(held)s, %(requested_at)s, pg_current_xact_id(), %(policy_version)s)
), mark AS (
    INSERT INTO olvido.ledger_entries (ledger_id, entry, applied_at) VALUES (%(ledger_id)s, %(entry)s, %(now)s)
), named AS (
    INSERT INTO olvido.erasure_identifiers (tenant_id, erasure_id, external_id)
    SELECT %(tenant)s, %(erasure_id)s, %(external)s::text WHERE %(external)s::text IS NOT NULL
)
INSERT INTO olvido.erasure_steps (tenant_id, erasure_id, step, level, kind, holder, status, attempts, due_at, deadline,
                                  evidence)
SELECT %(tenant)s, %(erasure_id)s, step, level, kind, holder, status, 0, due_at, deadline,
       CASE WHEN step = 'rows' THEN %(noted)s::jsonb ELSE '{}' END
  FROM unnest(%(steps)s::text[], %(levels)s::text[], %(kinds)s::text[], %(holders)s::text[], %(statuses)s::text[],
              %(due_ats)s::timestamptz[], %(deadlines)s::timestamptz[])
       AS s (step, level, kind, holder, status, due_at, deadline)

-- name: settle_rows
-- What the read-back after commit found: the step of level E1.
UPDATE olvido.erasure_steps
   SET status = %(status)s, evidence = evidence || %(evidence)s, attempts = attempts + 1,
       settled_at = CASE WHEN %(status)s = 'rows_absent' THEN %(now)s::timestamptz END
 WHERE tenant_id = %(tenant)s AND erasure_id = %(erasure_id)s AND step = 'rows' AND level = 'E1'
   AND settled_at IS NULL

-- name: external_id
-- The external id of a life, for a worker that is about to end it.
SELECT external_id FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s

-- name: claim
-- Take due steps of some levels, the longest due first, and be alone at them until an instant. Files wait until the rows
-- are read back, and the log until the files are done.
WITH next AS (
    SELECT s.tenant_id, s.erasure_id, s.step FROM olvido.erasure_steps s
     WHERE s.settled_at IS NULL AND s.level = ANY(%(levels)s) AND s.due_at <= %(now)s
       AND (s.level NOT IN ('E2', 'E3')
            OR NOT EXISTS (SELECT FROM olvido.erasure_steps e
                            WHERE e.tenant_id = s.tenant_id AND e.erasure_id = s.erasure_id
                              AND e.level < s.level AND e.settled_at IS NULL))
     ORDER BY s.due_at LIMIT %(batch)s
       FOR UPDATE OF s SKIP LOCKED
)
UPDATE olvido.erasure_steps s SET due_at = %(until)s, attempts = s.attempts + 1
  FROM next n
 WHERE s.tenant_id = n.tenant_id AND s.erasure_id = n.erasure_id AND s.step = n.step
RETURNING s.*

-- name: due
-- Whether a step of some levels is due.
SELECT EXISTS (SELECT FROM olvido.erasure_steps
                WHERE settled_at IS NULL AND level = ANY(%(levels)s) AND due_at <= %(now)s) AS due

-- name: store
-- What working on steps came to; nothing for a step that somebody else has taken or begun anew since.
UPDATE olvido.erasure_steps s
   SET status = o.status, evidence = o.evidence, blocker = o.blocker, attempts = o.attempts, due_at = o.due_at,
       deadline = coalesce(o.deadline, s.deadline),
       settled_at = CASE WHEN o.settled THEN %(now)s::timestamptz END
  FROM jsonb_to_recordset(%(outcomes)s::jsonb) AS o (erasure_id uuid, step text, status text, evidence jsonb,
                                                     blocker text, attempts integer, due_at timestamptz, deadline timestamptz,
                                                     settled boolean)
 WHERE s.tenant_id = %(tenant)s AND s.erasure_id = o.erasure_id AND s.step = o.step
   AND s.settled_at IS NULL AND s.due_at = %(until)s
RETURNING s.erasure_id, s.step, s.settled_at IS NOT NULL AS settled

-- name: follow
-- Let the log of requests wait for as long as their files do, and be due at once when these are done.
UPDATE olvido.erasure_steps l SET due_at = CASE WHEN f.settled_at IS NULL THEN f.due_at ELSE %(now)s END
  FROM olvido.erasure_steps f
 WHERE l.tenant_id = %(tenant)s AND l.erasure_id = ANY(%(erasure_ids)s) AND l.step = 'log' AND l.settled_at IS NULL
   AND f.tenant_id = %(tenant)s AND f.erasure_id = l.erasure_id AND f.step = 'files'

-- name: unblock
-- A hold of this life ended: files and log of what it was in the way of are due at once. Whatever a worker finds that
-- looked while the hold stood is not stored then. reason: how it says that a hold is in the way.
UPDATE olvido.erasure_steps s
   SET due_at = %(now)s, blocker = CASE WHEN starts_with(s.blocker, %(reason)s) THEN NULL ELSE s.blocker END
  FROM olvido.erasures e
 WHERE s.tenant_id = %(tenant)s AND s.settled_at IS NULL AND s.level IN ('E2', 'E3')
   AND e.tenant_id = %(tenant)s AND e.erasure_id = s.erasure_id AND e.subject_key = %(subject)s AND e.held > 0

-- name: settle_replicas
-- A replica whose replay is past the log of a request, as its step `log` found, has nothing of it any more.
UPDATE olvido.erasure_steps r
   SET status = 'verified', blocker = NULL, settled_at = %(now)s,
       evidence = r.evidence || jsonb_build_object('lsn', l.evidence -> 'lsn', 'looked_at', l.evidence -> 'checked_at',
                                                   'replicas', l.evidence -> 'replicas')
  FROM olvido.erasure_steps l
 WHERE r.tenant_id = %(tenant)s AND r.erasure_id = ANY(%(erasure_ids)s) AND r.settled_at IS NULL
   AND r.kind = 'replica' AND l.tenant_id = %(tenant)s AND l.erasure_id = r.erasure_id AND l.step = 'log'
   AND l.status = 'verified'
RETURNING r.erasure_id, r.step

-- name: write_settled
-- One row for each step that is settled now, without content.
INSERT INTO olvido.audit_log (tenant_id, audit_id, action, kind, record_id, counts, policy_version, at)
SELECT %(tenant)s, audit_id, 'erased', kind, erasure_id, '{}', %(policy_version)s, %(now)s
  FROM unnest(%(audit_ids)s::uuid[], %(kinds)s::text[], %(erasure_ids)s::uuid[]) AS s (audit_id, kind, erasure_id)

-- name: requests
-- What was asked in some requests of a company, and by which transaction it was removed. One that this server has not come
-- to was of another, from which a dump was loaded: whatever it removed was done before anything here. next: the next one.
-- not_before: when it was asked, or applied again to a copy that was put back; files written anew before then prove nothing.
-- Its number may stand for something else in a ledger that was made since, so that of all ledgers the last instant counts.
SELECT erasure_id, subject_key, target, record_ids, version, removed, held, next,
       least(removed_by::text::bigint, next - 1) AS removed_by,
       greatest(requested_at, (SELECT max(l.applied_at) FROM olvido.ledger_entries l
                                WHERE l.ledger_id = ANY(ARRAY(SELECT ledger_id FROM olvido.ledger_entries WHERE entry = 0))
                                  AND l.entry = ledger_entry)) AS not_before
  FROM olvido.erasures
 CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS here
 WHERE tenant_id = %(tenant)s AND erasure_id = ANY(%(erasure_ids)s)

-- name: ended
-- The transaction before which everything was that can be seen to be done.
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS before

-- name: of_requests
-- Every step of some requests of a company, those of this database first.
SELECT * FROM olvido.erasure_steps WHERE tenant_id = %(tenant)s AND erasure_id = ANY(%(erasure_ids)s)
 ORDER BY erasure_id, level, step

-- name: rewrites
-- When some relations were last written anew.
SELECT relation, gone_before::text::bigint AS gone_before, begun_at, rested_until, evidence
  FROM olvido.rewrites WHERE relation = ANY(%(relations)s)

-- name: note_rewrite
-- A relation was written anew.
INSERT INTO olvido.rewrites (relation, gone_before, begun_at, rested_until, evidence)
VALUES (%(relation)s, %(gone_before)s::text::xid8, %(begun_at)s, %(rested_until)s, %(evidence)s)
ON CONFLICT (relation) DO UPDATE SET
    gone_before = excluded.gone_before, begun_at = excluded.begun_at, rested_until = excluded.rested_until,
    evidence = excluded.evidence

-- name: waiting
-- How many steps are not settled, by level, and when the next one is due.
SELECT level, count(*)::integer AS steps, count(*) FILTER (WHERE status = 'needs_attention')::integer AS attention,
       min(due_at) AS due_at
  FROM olvido.erasure_steps WHERE settled_at IS NULL GROUP BY level ORDER BY level

-- name: page
-- Requests of one company, the newest first, after a position.
SELECT e.*, i.erasure_id IS NOT NULL AS identifier_kept
  FROM olvido.erasures e
  LEFT JOIN olvido.erasure_identifiers i ON i.tenant_id = %(tenant)s AND i.erasure_id = e.erasure_id
 WHERE e.tenant_id = %(tenant)s AND (%(only)s::uuid IS NULL OR e.erasure_id = %(only)s)
   AND (%(before)s::uuid IS NULL OR e.erasure_id < %(before)s)
 ORDER BY e.erasure_id DESC LIMIT %(size)s
