-- name: record
-- Store an episode; no row if its event id is there already.
INSERT INTO olvido.episodes (
    tenant_id, subject_key, record_id, definition, event_id, case_id, status, fields, language, purpose, untrusted,
    origin_class, origin_source, origin_ref, origin_actor, origin_at, occurred_at, recorded_at, expires_at,
    policy_version)
VALUES (%(tenant)s, %(subject)s, %(record_id)s, %(definition)s, %(event_id)s, %(case_id)s, %(status)s, %(fields)s,
        %(language)s, %(purpose)s, %(untrusted)s, %(origin_class)s, %(origin_source)s, %(origin_ref)s,
        %(origin_actor)s, %(origin_at)s, %(occurred_at)s, %(now)s, %(expires_at)s, %(policy_version)s)
ON CONFLICT (tenant_id, subject_key, definition, event_id) DO NOTHING
RETURNING *

-- name: by_event
-- The stored episode of one event, live or expired, locked until the transaction ends.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND definition = %(definition)s
   AND event_id = %(event_id)s
   FOR UPDATE

-- name: get
-- One episode by record id, unless it is expired.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = %(record_id)s
   AND (expires_at IS NULL OR expires_at > %(now)s)

-- name: page
-- The newest live episodes after a position, newest first; one more than a page, to know whether there are more.
SELECT * FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s
   AND (expires_at IS NULL OR expires_at > %(now)s)
   AND (%(definition)s::text IS NULL OR definition = %(definition)s)
   AND (%(case_id)s::text IS NULL OR case_id = %(case_id)s)
   AND (%(status)s::text IS NULL OR status = %(status)s)
   AND (%(before_at)s::timestamptz IS NULL
        OR (occurred_at, record_id) < (%(before_at)s::timestamptz, %(before_id)s::uuid))
 ORDER BY occurred_at DESC, record_id DESC
 LIMIT %(size)s

-- name: forget
-- Delete some episodes.
DELETE FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: expired
-- Episodes that expired, locked; those that a writer holds are left for the next batch.
SELECT record_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at <= %(now)s
 LIMIT %(batch)s FOR UPDATE SKIP LOCKED
