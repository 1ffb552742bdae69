-- name: settle
-- Settings of a connection: those on which the text of rows depends, for checksums and for instants near the years 1 and
-- 9999; and one that spares planning: partitions are pruned by their bounds, no CHECK constraint excludes any beyond that.
SELECT set_config('timezone', 'UTC', false), set_config('datestyle', 'ISO, MDY', false),
       set_config('intervalstyle', 'postgres', false), set_config('extra_float_digits', '1', false),
       set_config('constraint_exclusion', 'off', false),
       -- Whatever the login has set: writers that wait for each other go on from what the other committed.
       set_config('default_transaction_isolation', 'read committed', false), set_config('array_nulls', 'on', false)

-- name: enter
-- Enter a scope by external id for the rest of the transaction.
SELECT subject_key, entered_at, over, closed
  FROM olvido.enter_scope(%(tenant)s::text, %(external)s::text, %(subject)s::uuid, %(lock)s::boolean)

-- name: enter_to_insert
-- Enter a scope to write, for inserts above all: these, and their foreign keys to subjects, may keep a generic plan.
SELECT subject_key, entered_at, over, closed, set_config('plan_cache_mode', 'auto', true)
  FROM olvido.enter_scope(%(tenant)s::text, %(external)s::text, %(subject)s::uuid, true)

-- name: enter_life
-- Enter a scope by the key of a life for the rest of the transaction.
SELECT subject_key, entered_at, over, closed
  FROM olvido.enter_life(%(tenant)s::text, %(external)s::text, %(pinned)s::uuid, %(lock)s::boolean)

-- name: begin
-- Begin a life; false if another caller did, or the tenant is closed.
SELECT olvido.begin_life(%(tenant)s::text, %(external)s::text, %(minted)s::uuid, %(now)s::timestamptz) AS begun

-- name: reorganise
-- Wait for whoever rewrites derived records of this life; plain writers are not held up.
SELECT subject_key FROM olvido.subjects WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s FOR NO KEY UPDATE

-- name: touch_due
-- Note when this life next has something to purge; an earlier note stays.
INSERT INTO olvido.due (tenant_id, subject_key, next_due_at) VALUES (%(tenant)s, %(subject)s, %(due_at)s)
ON CONFLICT (tenant_id, subject_key) DO UPDATE SET next_due_at = least(due.next_due_at, excluded.next_due_at)
 WHERE due.next_due_at > excluded.next_due_at

-- name: audit
-- What was done, without content, in the transaction that does it.
INSERT INTO olvido.audit_log (tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
VALUES (%(tenant)s, %(audit_id)s, %(subject)s, %(action)s, %(kind)s, %(record_id)s, %(counts)s,
        %(policy_version)s, %(now)s)
