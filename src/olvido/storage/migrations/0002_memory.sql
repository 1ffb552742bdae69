-- What is remembered: one table per kind, each keyed by tenant and life first, so that no key, constraint or
-- reference can tell one scope anything about another.

CREATE TABLE olvido.preferences (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (key <> ''),
    record_id uuid NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    value jsonb NOT NULL,
    purpose text NOT NULL,
    origin_class text NOT NULL CHECK (origin_class IN ('declared', 'observed', 'inferred')),
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamptz,
    said_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    policy_version text NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, key),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);

-- Every version, the current one included. retain_until is when a superseded version is purged on its own.
CREATE TABLE olvido.preference_versions (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    key text COLLATE "C" NOT NULL,
    value jsonb NOT NULL,
    change text NOT NULL CHECK (change IN ('set', 'corrected', 'reopened')),
    origin_class text NOT NULL CHECK (origin_class IN ('declared', 'observed', 'inferred')),
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamptz,
    said_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    retain_until timestamptz,
    policy_version text NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, record_id, version),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);

CREATE TABLE olvido.episodes (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    definition text NOT NULL,
    event_id text COLLATE "C" NOT NULL CHECK (event_id <> ''),
    case_id text COLLATE "C",
    status text,
    fields jsonb NOT NULL,
    language text NOT NULL CHECK (language IN ('en', 'es', 'pt', 'other')),
    purpose text NOT NULL,
    untrusted boolean NOT NULL,
    origin_class text NOT NULL CHECK (origin_class IN ('declared', 'observed', 'inferred')),
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamptz,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    expires_at timestamptz,
    policy_version text NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, record_id),
    UNIQUE (tenant_id, subject_key, definition, event_id),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
) PARTITION BY HASH (tenant_id);

-- Derived text and vector of a preference or an episode: never the only copy, always rebuildable. The columns that
-- decide eligibility stand here too, so that ranking reads one relation. No HNSW and no GIN: neither is reachable
-- exactly under row security, and both would keep words after the row is gone.
CREATE TABLE olvido.index_entries (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('preference', 'episode')),
    definition text NOT NULL,
    purpose text NOT NULL,
    case_id text COLLATE "C",
    status text,
    origin_class text NOT NULL,
    occurred_at timestamptz NOT NULL,
    expires_at timestamptz,
    language text NOT NULL CHECK (language IN ('en', 'es', 'pt', 'other')),
    terms tsvector NOT NULL,
    term_count integer NOT NULL CHECK (term_count >= 0),
    embedder text,
    -- PLAIN: beside text a default vector goes out of line and is read three to four times slower.
    embedding halfvec STORAGE PLAIN,
    CHECK ((embedder IS NULL) = (embedding IS NULL)),
    PRIMARY KEY (tenant_id, subject_key, record_id),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
) PARTITION BY HASH (tenant_id);

CREATE TABLE olvido.sessions (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    session_id text COLLATE "C" NOT NULL CHECK (session_id <> ''),
    record_id uuid NOT NULL,
    goal text,
    purpose text NOT NULL,
    message_count integer NOT NULL CHECK (message_count >= 0),
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    expires_at timestamptz NOT NULL,
    policy_version text NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, session_id),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);

CREATE TABLE olvido.session_items (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('decision', 'constraint', 'pending')),
    position integer NOT NULL CHECK (position >= 0),
    content text NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, session_id, kind, position),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects,
    FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions
);

CREATE TABLE olvido.messages (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    sequence integer NOT NULL CHECK (sequence >= 0),
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
    content text NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, session_id, sequence),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects,
    FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions
) PARTITION BY HASH (tenant_id);

-- A summary holds references only: dates, statuses and origins are read from its episodes, so they cannot go stale.
CREATE TABLE olvido.summaries (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    definition text NOT NULL,
    case_id text COLLATE "C" NOT NULL CHECK (case_id <> ''),
    origin_class text NOT NULL CHECK (origin_class IN ('declared', 'observed', 'inferred')),
    expires_at timestamptz,
    built_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, record_id),
    UNIQUE (tenant_id, subject_key, definition, case_id),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);

CREATE TABLE olvido.summary_sources (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    summary_id uuid NOT NULL,
    episode_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, subject_key, summary_id, episode_id),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects,
    FOREIGN KEY (tenant_id, subject_key, summary_id) REFERENCES olvido.summaries,
    FOREIGN KEY (tenant_id, subject_key, episode_id) REFERENCES olvido.episodes
);

-- SHA-256 of a set of rows as text, whatever their order; NULL and the empty set give the same value.
CREATE FUNCTION olvido.digest(rows text[]) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(r, E'\n' ORDER BY r COLLATE "C"), ''), 'UTF8')), 'hex')
      FROM unnest(rows) AS r
$$;
GRANT EXECUTE ON FUNCTION olvido.digest TO olvido_app, olvido_worker;
