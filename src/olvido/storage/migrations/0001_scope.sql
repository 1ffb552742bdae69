-- Who may see what: tenants, the lives of their subjects, and the one way into a scope.
-- Runs as olvido_owner; roles and extensions exist already (roles.sql).

REVOKE ALL ON SCHEMA olvido FROM PUBLIC;
GRANT USAGE ON SCHEMA olvido TO olvido_app, olvido_worker, olvido_eraser;
-- Without IN SCHEMA: the built-in grant to PUBLIC can be taken away for the owner as a whole only.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- A company. closed_at is set before it is forgotten; a closed tenant gets no new subject and serves nothing.
CREATE TABLE olvido.tenants (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> '' AND octet_length(tenant_id) <= 200),
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    PRIMARY KEY (tenant_id)
);

-- One row per life of a subject; the only place that holds the external id. Forgetting deletes the row, so that
-- whatever still writes for that life fails on its foreign key.
CREATE TABLE olvido.subjects (
    tenant_id text COLLATE "C" NOT NULL REFERENCES olvido.tenants,
    subject_key uuid NOT NULL,
    external_id text COLLATE "C" NOT NULL CHECK (external_id <> '' AND octet_length(external_id) <= 200),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key),
    UNIQUE (tenant_id, external_id)
);

-- When a scope next has something expired: opaque keys and times only, so that a worker can find work without
-- seeing anybody's records.
CREATE TABLE olvido.due (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    next_due_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);
CREATE INDEX due_next ON olvido.due (next_due_at);

-- What was done, without content. Outlives the subject, therefore without a foreign key to it.
CREATE TABLE olvido.audit_log (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> ''),
    audit_id uuid NOT NULL,
    subject_key uuid,
    action text NOT NULL CHECK (action ~ '^[a-z_]+$'),
    kind text NOT NULL CHECK (kind ~ '^[a-z_]+$'),
    record_id uuid,
    counts jsonb NOT NULL,
    policy_version text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, audit_id)
);

-- The scope of this transaction. Before anything is entered, and after COMMIT, both are NULL and match no row.
CREATE FUNCTION olvido.current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('olvido.tenant', true), '');
CREATE FUNCTION olvido.current_subject() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('olvido.subject', true), '')::uuid;
CREATE FUNCTION olvido.current_external() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('olvido.external', true), '');

-- The queue for a life, or for the lives of a tenant (scope_key): whoever writes shares it, whoever ends it takes it
-- alone. Row locks alone would let a forget wait for ever: a row that is shared without a break is never free, while
-- these are granted in the order of asking. Seed 1: seed 0 is the lock of `olvido migrate`.
CREATE FUNCTION olvido.queue(scope_key text, alone boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(scope_key, 1));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(scope_key, 1));
    END IF;
END $$;

-- Enter the scope of one subject for the rest of this transaction, as a request does: by external id.
-- pinned is the life that the caller saw before; if it is over, `over` is true and no row is visible.
-- With lock, the life is held against a concurrent forget until the transaction ends.
-- The wish for custom plans comes last: the queries in here read relations without partitions, so their generic plans
-- lock no leaf, and they are planned once a connection instead of once a transaction.
CREATE FUNCTION olvido.enter_scope(
    tenant text, external text, pinned uuid, lock boolean,
    OUT subject_key uuid, OUT entered_at timestamptz, OUT over boolean, OUT closed boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM set_config('olvido.tenant', tenant, true), set_config('olvido.external', external, true);
    SELECT t.closed_at IS NOT NULL INTO closed FROM olvido.tenants t WHERE t.tenant_id = tenant;
    closed := coalesce(closed, false);
    SELECT s.subject_key INTO subject_key
      FROM olvido.subjects s WHERE s.tenant_id = tenant AND s.external_id = external;
    over := pinned IS NOT NULL AND subject_key IS DISTINCT FROM pinned;
    IF over THEN
        subject_key := NULL;
    ELSIF lock AND subject_key IS NOT NULL THEN
        PERFORM olvido.queue(subject_key::text, false);
        PERFORM 1 FROM olvido.subjects s
          WHERE s.tenant_id = tenant AND s.external_id = external AND s.subject_key = enter_scope.subject_key
            FOR KEY SHARE;
        IF NOT FOUND THEN  -- forgotten while this transaction waited for the lock
            over := true;
            subject_key := NULL;
        END IF;
    END IF;
    PERFORM set_config('olvido.subject', coalesce(subject_key::text, ''), true),
            -- A generic plan locks every partition, so that one being rewritten would stall every tenant.
            set_config('plan_cache_mode', 'force_custom_plan', true);
    entered_at := clock_timestamp();
END $$;

-- Enter the scope of one life for the rest of this transaction by its key: as a worker does, without the external id,
-- or as a request does that reads a forget back and must be able to see the row of `subjects` if it is still there.
CREATE FUNCTION olvido.enter_life(
    tenant text, external text, pinned uuid, lock boolean,
    OUT subject_key uuid, OUT entered_at timestamptz, OUT over boolean, OUT closed boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM set_config('olvido.tenant', tenant, true), set_config('olvido.external', coalesce(external, ''), true);
    SELECT t.closed_at IS NOT NULL INTO closed FROM olvido.tenants t WHERE t.tenant_id = tenant;
    closed := coalesce(closed, false);
    IF lock THEN
        PERFORM olvido.queue(pinned::text, false);
        SELECT s.subject_key INTO subject_key
          FROM olvido.subjects s WHERE s.tenant_id = tenant AND s.subject_key = pinned FOR KEY SHARE;
    ELSE
        SELECT s.subject_key INTO subject_key
          FROM olvido.subjects s WHERE s.tenant_id = tenant AND s.subject_key = pinned;
    END IF;
    over := subject_key IS NULL;
    PERFORM set_config('olvido.subject', coalesce(pinned::text, ''), true),
            set_config('plan_cache_mode', 'force_custom_plan', true);
    entered_at := clock_timestamp();
END $$;

-- Begin a life: true if this call minted it, false if another did or the tenant is closed.
CREATE FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM set_config('olvido.tenant', tenant, true), set_config('olvido.external', external, true);
    PERFORM olvido.queue(tenant, false);
    INSERT INTO olvido.tenants (tenant_id, opened_at) VALUES (tenant, at) ON CONFLICT DO NOTHING;
    -- The lock makes the row be judged as it is after any concurrent closing has committed.
    INSERT INTO olvido.subjects (tenant_id, subject_key, external_id, created_at)
    SELECT t.tenant_id, minted, external, at
      FROM olvido.tenants t WHERE t.tenant_id = tenant AND t.closed_at IS NULL FOR KEY SHARE
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

GRANT EXECUTE ON FUNCTION
    olvido.current_tenant, olvido.current_subject, olvido.current_external,
    olvido.queue, olvido.enter_scope, olvido.enter_life, olvido.begin_life
    TO olvido_app, olvido_worker;
