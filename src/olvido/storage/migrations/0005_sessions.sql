-- Sessions in depth: groups of messages, facts with their origin, and how far a session is folded.

-- Messages of one group stay together wherever a history is cut, as a tool call and its result must.
ALTER TABLE olvido.messages ADD COLUMN group_id text COLLATE "C" CHECK (group_id <> '');
CREATE INDEX messages_group ON olvido.messages (tenant_id, subject_key, session_id, group_id, sequence)
    WHERE group_id IS NOT NULL;

-- Messages before this number are folded: facts stand for them in a prompt, and they stay readable.
ALTER TABLE olvido.sessions ADD COLUMN folded_to integer NOT NULL DEFAULT 0
    CHECK (folded_to >= 0 AND folded_to <= message_count);
ALTER TABLE olvido.sessions ALTER COLUMN folded_to DROP DEFAULT;

-- messages: numbers of the messages it rests on. They need no key of their own: a message goes with its session only.
CREATE TABLE olvido.session_facts (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    position integer NOT NULL CHECK (position >= 0),
    record_id uuid NOT NULL,
    content text NOT NULL,
    messages integer[] NOT NULL,
    origin_class text NOT NULL CHECK (origin_class IN ('declared', 'observed', 'inferred')),
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamptz,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, session_id, position),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects,
    FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions
);

SELECT olvido.wall('olvido.session_facts'), olvido.silence('olvido.session_facts');
-- The new column, on the parent and on the leaves that a database may have already.
SELECT olvido.silence('olvido.messages');
SELECT olvido.silence(inhrelid::regclass) FROM pg_catalog.pg_inherits WHERE inhparent = 'olvido.messages'::regclass;
GRANT SELECT, INSERT, UPDATE, DELETE ON olvido.session_facts TO olvido_app, olvido_worker;
