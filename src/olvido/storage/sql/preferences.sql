-- name: enter
-- Enter a scope to state one key, with the stored value of it, live or expired, locked until the transaction ends.
-- One answer instead of two. The value is looked for after the scope was entered, because it depends on what that
-- answered; one that was first written while this waited to enter is not seen.
SELECT h.*, e.subject_key, e.entered_at, e.over, e.closed, set_config('plan_cache_mode', 'auto', true)
  FROM olvido.enter_scope(%(tenant)s::text, %(external)s::text, %(subject)s::uuid, true) AS e
  LEFT JOIN LATERAL (
      SELECT * FROM olvido.preferences p
       WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s AND p.subject_key = e.subject_key
         AND p.key = %(key)s
         FOR UPDATE) AS h ON true

-- name: head_for_update
-- The stored value of one key, live or expired, locked until the transaction ends.
-- A join with its version would lose the row after waiting for another writer, whose version it does not see.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND key = %(key)s
   FOR UPDATE

-- name: change_of
-- What made one version.
SELECT change FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND version = %(version)s

-- name: begin
-- Version 1 of a key, with its history, index entry, audit row and when the life is due; no row if another was first.
WITH head AS (
    INSERT INTO olvido.preferences (
        tenant_id, subject_key, key, record_id, version, value, purpose, origin_class, origin_source, origin_ref,
        origin_actor, origin_at, said_at, recorded_at, created_at, expires_at, policy_version)
    VALUES (%(tenant)s, %(subject)s, %(key)s, %(record_id)s, 1, %(value)s, %(purpose)s, %(origin_class)s,
            %(origin_source)s, %(origin_ref)s, %(origin_actor)s, %(origin_at)s, %(said_at)s, %(now)s, %(now)s,
            %(expires_at)s, %(policy_version)s)
    ON CONFLICT (tenant_id, subject_key, key) DO NOTHING
    RETURNING *
), version AS (
    INSERT INTO olvido.preference_versions (
        tenant_id, subject_key, record_id, version, key, value, change, origin_class, origin_source, origin_ref,
        origin_actor, origin_at, said_at, recorded_at, valid_from, policy_version)
    SELECT tenant_id, subject_key, record_id, version, key, value, %(change)s, origin_class, origin_source, origin_ref,
           origin_actor, origin_at, said_at, recorded_at, recorded_at, policy_version
      FROM head
), entry AS (
    INSERT INTO olvido.index_entries (
        tenant_id, subject_key, record_id, kind, definition, purpose, origin_class, occurred_at, expires_at,
        language, lexer, words, word_count, identifiers, timed, embedder, embedding)
    SELECT tenant_id, subject_key, record_id, 'preference', key, purpose, origin_class, said_at, expires_at,
           %(language)s, %(lexer)s, %(words)s, %(word_count)s, %(identifiers)s, %(timed)s, %(embedder)s,
           %(embedding)s::halfvec
      FROM head
), marked AS (
    -- A worker looks at this life again if what it holds is of another model, or of none. A life that is unfinished with
    -- this model is looked at anyway, by who began it.
    UPDATE olvido.lives SET indexed_by = NULL, repair_after = '-infinity'
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND indexed_by <> coalesce(%(indexed_by)s::text, '')
       AND NOT (starts_with(indexed_by, coalesce(%(indexed_by)s::text, '')) AND indexed_by ~ ' (half|tried)$')
       AND EXISTS (SELECT FROM head)
), due AS (
    INSERT INTO olvido.due (tenant_id, subject_key, next_due_at)
    SELECT tenant_id, subject_key, expires_at FROM head WHERE expires_at IS NOT NULL
    ON CONFLICT (tenant_id, subject_key) DO UPDATE SET next_due_at = excluded.next_due_at
     WHERE due.next_due_at > excluded.next_due_at
), audit AS (
    INSERT INTO olvido.audit_log (
        tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
    SELECT tenant_id, %(audit_id)s, subject_key, %(change)s, 'preference', record_id, '{}', policy_version, recorded_at
      FROM head
)
SELECT * FROM head

-- name: supersede
-- The next version of a locked head, with the same beside it: close the previous one, keep it as history.
-- A writer that waited for the head may have entered before the one it waited for; the new version still begins no
-- earlier than the one that it ends.
WITH closed AS (
    UPDATE olvido.preference_versions SET valid_to = greatest(%(now)s, valid_from), retain_until = %(retain_until)s
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
       AND version = %(current_version)s
), head AS (
    UPDATE olvido.preferences
       SET version = %(current_version)s + 1, value = %(value)s, purpose = %(purpose)s,
           origin_class = %(origin_class)s, origin_source = %(origin_source)s, origin_ref = %(origin_ref)s,
           origin_actor = %(origin_actor)s, origin_at = %(origin_at)s, said_at = %(said_at)s,
           recorded_at = greatest(%(now)s, recorded_at), expires_at = %(expires_at)s, policy_version = %(policy_version)s
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND key = %(key)s
    RETURNING *
), version AS (
    INSERT INTO olvido.preference_versions (
        tenant_id, subject_key, record_id, version, key, value, change, origin_class, origin_source, origin_ref,
        origin_actor, origin_at, said_at, recorded_at, valid_from, policy_version)
    SELECT tenant_id, subject_key, record_id, version, key, value, %(change)s, origin_class, origin_source,
           origin_ref, origin_actor, origin_at, said_at, recorded_at, recorded_at, policy_version
      FROM head
), entry AS (
    INSERT INTO olvido.index_entries (
        tenant_id, subject_key, record_id, kind, definition, purpose, origin_class, occurred_at, expires_at,
        language, lexer, words, word_count, identifiers, timed, embedder, embedding)
    SELECT tenant_id, subject_key, record_id, 'preference', key, purpose, origin_class, said_at, expires_at,
           %(language)s, %(lexer)s, %(words)s, %(word_count)s, %(identifiers)s, %(timed)s, %(embedder)s,
           %(embedding)s::halfvec
      FROM head
    ON CONFLICT (tenant_id, subject_key, record_id) DO UPDATE SET
        purpose = excluded.purpose, origin_class = excluded.origin_class, occurred_at = excluded.occurred_at,
        expires_at = excluded.expires_at, language = excluded.language, lexer = excluded.lexer,
        words = excluded.words, word_count = excluded.word_count, identifiers = excluded.identifiers,
        timed = excluded.timed, embedder = excluded.embedder, embedding = excluded.embedding
), marked AS (
    -- A worker looks at this life again if what it holds is of another model, or of none. A life that is unfinished with
    -- this model is looked at anyway, by who began it.
    UPDATE olvido.lives SET indexed_by = NULL, repair_after = '-infinity'
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND indexed_by <> coalesce(%(indexed_by)s::text, '')
       AND NOT (starts_with(indexed_by, coalesce(%(indexed_by)s::text, '')) AND indexed_by ~ ' (half|tried)$')
       AND EXISTS (SELECT FROM head)
), due AS (
    INSERT INTO olvido.due (tenant_id, subject_key, next_due_at)
    SELECT tenant_id, subject_key, least(expires_at, %(retain_until)s) FROM head
     WHERE least(expires_at, %(retain_until)s) IS NOT NULL
    ON CONFLICT (tenant_id, subject_key) DO UPDATE SET next_due_at = excluded.next_due_at
     WHERE due.next_due_at > excluded.next_due_at
), audit AS (
    INSERT INTO olvido.audit_log (
        tenant_id, audit_id, subject_key, action, kind, record_id, counts, policy_version, at)
    SELECT tenant_id, %(audit_id)s, subject_key, %(change)s, 'preference', record_id, %(counts)s, policy_version,
           recorded_at
      FROM head
)
SELECT * FROM head

-- name: restate
-- The current value of a locked head was said again: the later instant counts.
WITH version AS (
    UPDATE olvido.preference_versions SET said_at = %(said_at)s
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
       AND version = %(version)s
), entry AS (
    UPDATE olvido.index_entries SET occurred_at = %(said_at)s
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
)
UPDATE olvido.preferences SET said_at = %(said_at)s
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
RETURNING *

-- name: get
-- The current value of one key, unless it is expired.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND key = %(key)s
   AND (expires_at IS NULL OR expires_at > %(now)s)

-- name: all
-- The current values of all keys, unless expired.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (expires_at IS NULL OR expires_at > %(now)s)
 ORDER BY key

-- name: history
-- Every version of the live value of one key, oldest first; nothing if it is expired.
SELECT v.*
  FROM olvido.preferences p
  JOIN olvido.preference_versions v
    ON v.tenant_id = p.tenant_id AND v.subject_key = p.subject_key AND v.record_id = p.record_id
 WHERE p.tenant_id = %(tenant)s AND p.subject_key = %(subject)s AND p.key = %(key)s
   AND (p.expires_at IS NULL OR p.expires_at > %(now)s)
   AND (v.retain_until IS NULL OR v.retain_until > %(now)s)
 ORDER BY v.version

-- name: drop_version
-- Take one version out of a chain whose earlier value was reopened.
DELETE FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND version = %(version)s

-- name: date_back
-- Let a version that was made current again count from when that was asked: in a copy that was put back, it is done later.
WITH head AS (
    UPDATE olvido.preferences SET recorded_at = greatest(%(requested_at)s, created_at)
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND version = %(version)s
    RETURNING recorded_at
)
UPDATE olvido.preference_versions v SET recorded_at = head.recorded_at, valid_from = head.recorded_at
  FROM head
 WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s AND v.record_id = %(record_id)s
   AND v.version = %(version)s

-- name: previous
-- The version before the current one, if it is still kept.
SELECT * FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND version < %(version)s
   AND (retain_until IS NULL OR retain_until > %(now)s)
 ORDER BY version DESC LIMIT 1

-- name: forget_versions
-- Delete all versions of some chains.
DELETE FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: forget
-- Delete the heads of some chains.
DELETE FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: expired
-- Chains that expired, locked; those that a writer holds are left for the next batch.
SELECT record_id FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at <= %(now)s
 LIMIT %(batch)s FOR UPDATE SKIP LOCKED

-- name: purge_versions
-- Superseded versions whose own retention is over.
DELETE FROM olvido.preference_versions v
 USING (SELECT record_id, version FROM olvido.preference_versions
         WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND retain_until <= %(now)s
         LIMIT %(batch)s FOR UPDATE SKIP LOCKED) AS old
 WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s
   AND v.record_id = old.record_id AND v.version = old.version

-- name: expired_versions
-- The same versions, locked, for whoever has to look at them before.
SELECT record_id, version FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND retain_until <= %(now)s
 LIMIT %(batch)s FOR UPDATE SKIP LOCKED

-- name: drop_versions
-- Delete single versions, by record and number.
DELETE FROM olvido.preference_versions v
 USING unnest(%(record_ids)s::uuid[], %(versions)s::integer[]) AS old (record_id, version)
 WHERE v.tenant_id = %(tenant)s AND v.subject_key = %(subject)s
   AND v.record_id = old.record_id AND v.version = old.version

-- name: head_by_record
-- The live head of one chain, locked until the transaction ends.
SELECT * FROM olvido.preferences
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
   AND (expires_at IS NULL OR expires_at > %(now)s)
   FOR UPDATE

-- name: count_version
-- Whether one version is still there, to read its removal back.
SELECT count(*) AS rows FROM olvido.preference_versions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s AND version = %(version)s
