-- name: open
-- Begin a session; no row if one by this id is stored already.
INSERT INTO olvido.sessions (
    tenant_id, subject_key, session_id, record_id, goal, purpose, message_count, folded_to, opened_at, expires_at,
    policy_version, revision)
VALUES (%(tenant)s, %(subject)s, %(session_id)s, %(record_id)s, NULL, %(purpose)s, 0, 0, %(now)s, %(expires_at)s,
        %(policy_version)s, 0)
ON CONFLICT (tenant_id, subject_key, session_id) DO NOTHING
RETURNING *

-- name: for_update
-- One session, live or expired, locked until the transaction ends.
SELECT * FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
   FOR UPDATE

-- name: get
-- One session, unless it is expired.
SELECT * FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s AND expires_at > %(now)s

-- name: stand
-- What one session is at, unless it is expired: a copy of its state is right while these are the same. Every write to
-- its state counts the revision up; facts are also forgotten one by one, which lowers their number.
SELECT s.record_id, s.revision,
       (SELECT count(*)::integer FROM olvido.session_facts f
         WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s AND f.session_id = %(session_id)s) AS facts
  FROM olvido.sessions s
 WHERE s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND s.session_id = %(session_id)s
   AND s.expires_at > %(now)s

-- name: items
-- Decisions, constraints and pending items of one session, in their order.
SELECT kind, content FROM olvido.session_items
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
 ORDER BY kind, position

-- name: facts
-- Facts of one session, in the order in which they were stored.
SELECT * FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
 ORDER BY position

-- name: count_facts
-- How many facts one session has.
SELECT count(*)::integer AS facts FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s

-- name: put_fact
-- Store one fact after the others of its session, whose row is locked.
WITH counted AS (
    UPDATE olvido.sessions SET revision = revision + 1
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
)
INSERT INTO olvido.session_facts (
    tenant_id, subject_key, session_id, position, record_id, content, messages,
    origin_class, origin_source, origin_ref, origin_actor, origin_at, recorded_at)
SELECT %(tenant)s, %(subject)s, %(session_id)s, coalesce(max(position) + 1, 0), %(record_id)s, %(content)s,
       %(messages)s::integer[], %(origin_class)s, %(origin_source)s, %(origin_ref)s, %(origin_actor)s,
       %(origin_at)s::timestamptz, %(now)s
  FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
RETURNING *

-- name: set_goal
-- Replace the goal.
UPDATE olvido.sessions SET goal = %(goal)s, revision = revision + 1
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s

-- name: clear_items
-- Take out the items of one kind, before others replace them.
WITH counted AS (
    UPDATE olvido.sessions SET revision = revision + 1
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
)
DELETE FROM olvido.session_items
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s AND kind = %(kind)s

-- name: put_items
-- Store the items of one kind, in the order given.
INSERT INTO olvido.session_items (tenant_id, subject_key, session_id, kind, position, content, recorded_at)
SELECT %(tenant)s, %(subject)s, %(session_id)s, %(kind)s, item.position - 1, item.content, %(now)s
  FROM unnest(%(contents)s::text[]) WITH ORDINALITY AS item (content, position)

-- name: append
-- Append messages with the next numbers of the session, whose row is locked by taking them.
WITH taken AS (
    UPDATE olvido.sessions
       SET message_count = message_count + cardinality(%(contents)s::text[]), revision = revision + 1
     WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
    RETURNING message_count - cardinality(%(contents)s::text[]) AS first
)
INSERT INTO olvido.messages (tenant_id, subject_key, session_id, sequence, role, group_id, content, recorded_at)
SELECT %(tenant)s, %(subject)s, %(session_id)s, taken.first + message.position - 1, message.role, %(group)s::text,
       message.content, %(now)s
  FROM taken, unnest(%(roles)s::text[], %(contents)s::text[]) WITH ORDINALITY AS message (role, content, position)
RETURNING *

-- name: group_size
-- How many messages one group of a session has.
SELECT count(*)::integer AS messages FROM olvido.messages
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s AND group_id = %(group)s

-- name: border
-- The last place at or before a cut that parts no group: it moves back to the first message of a group that reaches
-- over it, and again if that parts another one.
WITH RECURSIVE border (at) AS (
    SELECT %(cut)s::integer
    UNION
    SELECT least(b.at, (
        SELECT min(first.sequence) FROM olvido.messages late
          JOIN olvido.messages first
            ON first.tenant_id = late.tenant_id AND first.subject_key = late.subject_key
           AND first.session_id = late.session_id AND first.group_id = late.group_id
         WHERE late.tenant_id = %(tenant)s AND late.subject_key = %(subject)s AND late.session_id = %(session_id)s
           AND late.sequence >= b.at AND late.group_id IS NOT NULL
           AND first.tenant_id = %(tenant)s AND first.subject_key = %(subject)s))
      FROM border b
)
SELECT min(at) AS at FROM border

-- name: between
-- Messages from one sequence number up to, and without, another; oldest first.
SELECT * FROM olvido.messages
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s
   AND sequence >= %(first)s AND sequence < %(until)s
 ORDER BY sequence

-- name: fold
-- Fold the messages before a sequence number: facts stand for them, and they stay readable.
UPDATE olvido.sessions SET folded_to = %(until)s, revision = revision + 1
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s

-- name: messages
-- Messages of a live session from a sequence number on, oldest first.
SELECT m.* FROM olvido.messages m
  JOIN olvido.sessions s
    ON s.tenant_id = m.tenant_id AND s.subject_key = m.subject_key AND s.session_id = m.session_id
 WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s AND m.session_id = %(session_id)s
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s AND s.expires_at > %(now)s
   AND m.sequence >= %(first)s
 ORDER BY m.sequence LIMIT %(size)s

-- name: of_facts
-- The record ids of the sessions that some facts belong to.
SELECT DISTINCT s.record_id FROM olvido.session_facts f
  JOIN olvido.sessions s
    ON s.tenant_id = f.tenant_id AND s.subject_key = f.subject_key AND s.session_id = f.session_id
 WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s AND f.record_id = ANY(%(record_ids)s)
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s

-- name: handed_over
-- The episodes of some events, whatever they are called in the policy.
SELECT record_id FROM olvido.episodes
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND event_id = ANY(%(event_ids)s::text[])
 ORDER BY record_id

-- name: close
-- Close a session: it stays readable until it expires.
UPDATE olvido.sessions SET closed_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND session_id = %(session_id)s AND closed_at IS NULL

-- name: expired
-- Sessions that expired, locked; those that a writer holds are left for the next batch.
SELECT record_id FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND expires_at <= %(now)s
 LIMIT %(batch)s FOR UPDATE SKIP LOCKED

-- name: lock
-- Wait for writers of some sessions, and keep others out until the transaction ends.
SELECT record_id FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
 ORDER BY record_id FOR UPDATE

-- name: forget_messages
-- Delete the messages of some sessions.
DELETE FROM olvido.messages m USING olvido.sessions s
 WHERE m.tenant_id = %(tenant)s AND m.subject_key = %(subject)s
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND s.record_id = ANY(%(record_ids)s) AND m.session_id = s.session_id

-- name: forget_items
-- Delete the items of some sessions.
DELETE FROM olvido.session_items i USING olvido.sessions s
 WHERE i.tenant_id = %(tenant)s AND i.subject_key = %(subject)s
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND s.record_id = ANY(%(record_ids)s) AND i.session_id = s.session_id

-- name: forget_facts
-- Delete the facts of some sessions.
DELETE FROM olvido.session_facts f USING olvido.sessions s
 WHERE f.tenant_id = %(tenant)s AND f.subject_key = %(subject)s
   AND s.tenant_id = %(tenant)s AND s.subject_key = %(subject)s
   AND s.record_id = ANY(%(record_ids)s) AND f.session_id = s.session_id

-- name: forget_fact
-- Delete some facts.
DELETE FROM olvido.session_facts
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)

-- name: forget
-- Delete some sessions.
DELETE FROM olvido.sessions
 WHERE tenant_id = %(tenant)s AND subject_key = %(subject)s AND record_id = ANY(%(record_ids)s)
