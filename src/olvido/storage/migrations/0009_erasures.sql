-- Forgetting that can be shown: what was asked, how far each copy of it is gone, what a court keeps, and the seals of
-- the audit. None of it holds what was remembered, but for two relations that say so and when their rows go.

-- One request to forget, written in the transaction that removes the rows: target is what it was about, record_ids are
-- the records (empty for a whole life or company), removed_by is the transaction, so that whoever rewrites files can tell
-- who may still see the rows. The key is that of a life that is over, unless single records were forgotten.
CREATE TABLE olvido.erasures (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> ''),
    erasure_id uuid NOT NULL,
    subject_key uuid NOT NULL,
    target text NOT NULL CHECK (target IN ('record', 'selection', 'subject', 'tenant', 'hold')),
    record_ids uuid[] NOT NULL,
    version integer CHECK (version > 0),
    ledger_entry bigint NOT NULL,
    plan_hash text NOT NULL,
    planned jsonb NOT NULL,
    removed jsonb NOT NULL,
    held integer NOT NULL CHECK (held >= 0),
    requested_at timestamptz NOT NULL,
    removed_by xid8 NOT NULL,
    policy_version text NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id)
);

-- How far a request is with each copy: rows (E1), files (E2), log (E3), and one step for each copy outside (E4, E5).
-- Opaque keys, names of copies from the policy and measured facts only, so that a worker finds work in every company.
-- due_at: when a worker looks at it next; whoever takes a step moves that on, so that no other one takes it meanwhile and
-- a worker that died gives it back by itself. evidence: what was measured, and when. blocker: what stands in the way.
CREATE TABLE olvido.erasure_steps (
    tenant_id text COLLATE "C" NOT NULL,
    erasure_id uuid NOT NULL,
    step text NOT NULL CHECK (step <> ''),
    level text NOT NULL CHECK (level IN ('E1', 'E2', 'E3', 'E4', 'E5')),
    kind text NOT NULL,
    holder text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'requested', 'rows_absent', 'verified', 'remaining', 'unverified',
                                           'manual', 'confirmed', 'expired', 'needs_attention')),
    attempts integer NOT NULL CHECK (attempts >= 0),
    due_at timestamptz NOT NULL,
    deadline timestamptz,
    blocker text,
    evidence jsonb NOT NULL,
    settled_at timestamptz,
    PRIMARY KEY (tenant_id, erasure_id, step),
    FOREIGN KEY (tenant_id, erasure_id) REFERENCES olvido.erasures
);
CREATE INDEX erasure_steps_due ON olvido.erasure_steps (level, due_at) WHERE settled_at IS NULL;

-- When each relation, or leaf of one, was last written anew, so that requests share it and a worker that died is followed
-- by one that does the rest. gone_before: rows that transactions before this one removed are not in its files; they may
-- only be said to be gone for requests that were made before begun_at, as a dump carries this to a server with other
-- transactions. rested_until: not to be locked again before that. evidence: what was measured.
CREATE TABLE olvido.rewrites (
    relation text COLLATE "C" NOT NULL CHECK (relation <> ''),
    gone_before xid8 NOT NULL,
    begun_at timestamptz NOT NULL,
    rested_until timestamptz NOT NULL,
    evidence jsonb NOT NULL,
    PRIMARY KEY (relation)
);

-- The external id of a forgotten person, where a copy outside is found by it: until the last such copy is settled.
CREATE TABLE olvido.erasure_identifiers (
    tenant_id text COLLATE "C" NOT NULL,
    erasure_id uuid NOT NULL,
    external_id text COLLATE "C" NOT NULL CHECK (external_id <> ''),
    PRIMARY KEY (tenant_id, erasure_id),
    FOREIGN KEY (tenant_id, erasure_id) REFERENCES olvido.erasures
);

-- Every copy that a policy of this database ever declared: one that is declared no more still holds what it held.
CREATE TABLE olvido.copies (
    name text COLLATE "C" NOT NULL CHECK (name <> ''),
    kind text NOT NULL,
    holder text NOT NULL,
    retention_seconds bigint CHECK (retention_seconds > 0),
    connector text,
    declared_at timestamptz NOT NULL,
    last_declared_at timestamptz NOT NULL,
    PRIMARY KEY (name)
);

-- Where sessions are also kept elsewhere, to read from: a copy of one is right while it is of this revision.
ALTER TABLE olvido.sessions ADD COLUMN revision integer NOT NULL DEFAULT 0;
ALTER TABLE olvido.sessions ALTER COLUMN revision DROP DEFAULT;

-- Which entries of the erasure ledger this database has in it. The ledger lies elsewhere and outlives it; a database that
-- lacks an entry is an older one, restored, and is not served until the entry is applied again. Entry 0 is the ledger
-- that this database belongs to.
CREATE TABLE olvido.ledger_entries (
    ledger_id uuid NOT NULL,
    entry bigint NOT NULL CHECK (entry >= 0),
    applied_at timestamptz NOT NULL,
    PRIMARY KEY (ledger_id, entry)
);
CREATE INDEX ledger_entries_ledgers ON olvido.ledger_entries (ledger_id) WHERE entry = 0;

-- Records that must be kept, by law: of one life, one record or all of them (record_id is NULL). basis and review_at are
-- shown to whoever is refused.
CREATE TABLE olvido.legal_holds (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> ''),
    hold_id uuid NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid,
    basis text NOT NULL CHECK (basis <> ''),
    review_at timestamptz NOT NULL,
    placed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, hold_id)
);
CREATE INDEX legal_holds_life ON olvido.legal_holds (tenant_id, subject_key);

-- What a hold kept when its record was forgotten or purged: out of every read, until the hold is released. A request
-- writes here and reads nothing back, so each removal numbers its rows by itself, under an id of its own: a record that
-- was imported again may be removed again. The row of `subjects` says whose the records were; its record_id is the life.
CREATE TABLE olvido.held_records (
    tenant_id text COLLATE "C" NOT NULL,
    hold_id uuid NOT NULL,
    removal_id uuid NOT NULL,
    relation text NOT NULL CHECK (relation <> ''),
    position integer NOT NULL CHECK (position > 0),
    record_id uuid NOT NULL,
    content jsonb NOT NULL,
    kept_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, hold_id, removal_id, relation, position),
    FOREIGN KEY (tenant_id, hold_id) REFERENCES olvido.legal_holds
);

-- Audit rows are chained in batches, after they are committed. seal: the batch a row is in; NULL is not sealed yet.
ALTER TABLE olvido.audit_log ADD COLUMN seal bigint;
CREATE INDEX audit_log_unsealed ON olvido.audit_log (tenant_id, audit_id) WHERE seal IS NULL;
CREATE INDEX audit_log_seal ON olvido.audit_log (tenant_id, seal) WHERE seal IS NOT NULL;

-- One batch: digest is over the rows in it and over the digest before it.
CREATE TABLE olvido.audit_seals (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> ''),
    seal bigint NOT NULL CHECK (seal > 0),
    rows integer NOT NULL CHECK (rows > 0),
    digest text NOT NULL,
    previous text NOT NULL,
    sealed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, seal)
);

-- One row a company, so that a worker finds whose audit to seal: due_at is when one looks at it next.
CREATE TABLE olvido.sealing (
    tenant_id text COLLATE "C" NOT NULL CHECK (tenant_id <> ''),
    due_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id)
);
CREATE INDEX sealing_next ON olvido.sealing (due_at);
ALTER TABLE olvido.tenants NO FORCE ROW LEVEL SECURITY;
INSERT INTO olvido.sealing (tenant_id, due_at) SELECT tenant_id, '-infinity' FROM olvido.tenants;
ALTER TABLE olvido.tenants FORCE ROW LEVEL SECURITY;

-- Requests write down what they removed, in their own company, and read none of it; workers carry it out.
ALTER TABLE olvido.erasures ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.erasures FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.erasures FOR INSERT TO olvido_app, olvido_worker
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY tenant_read ON olvido.erasures FOR SELECT TO olvido_worker
    USING (tenant_id = olvido.current_tenant());
GRANT INSERT ON olvido.erasures TO olvido_app;
GRANT SELECT, INSERT ON olvido.erasures TO olvido_worker;

ALTER TABLE olvido.erasure_steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.erasure_steps FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.erasure_steps FOR INSERT TO olvido_app
    WITH CHECK (tenant_id = olvido.current_tenant() AND settled_at IS NULL);
CREATE POLICY work ON olvido.erasure_steps TO olvido_worker USING (true) WITH CHECK (true);
-- It reads back what it removed, and writes down no more than that.
CREATE POLICY tenant_rows ON olvido.erasure_steps FOR SELECT TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND level = 'E1');
CREATE POLICY tenant_read_back ON olvido.erasure_steps FOR UPDATE TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND level = 'E1')
    WITH CHECK (tenant_id = olvido.current_tenant() AND level = 'E1');
GRANT SELECT, INSERT, UPDATE (status, evidence, attempts, settled_at) ON olvido.erasure_steps TO olvido_app;
GRANT SELECT, INSERT, UPDATE ON olvido.erasure_steps TO olvido_worker;

ALTER TABLE olvido.rewrites ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.rewrites FORCE ROW LEVEL SECURITY;
CREATE POLICY work ON olvido.rewrites TO olvido_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON olvido.rewrites TO olvido_worker;

ALTER TABLE olvido.erasure_identifiers ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.erasure_identifiers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.erasure_identifiers FOR INSERT TO olvido_app
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY tenant ON olvido.erasure_identifiers TO olvido_worker
    USING (tenant_id = olvido.current_tenant()) WITH CHECK (tenant_id = olvido.current_tenant());
GRANT INSERT ON olvido.erasure_identifiers TO olvido_app;
GRANT SELECT, INSERT, DELETE ON olvido.erasure_identifiers TO olvido_worker;

ALTER TABLE olvido.copies ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.copies FORCE ROW LEVEL SECURITY;
CREATE POLICY declared ON olvido.copies TO olvido_app, olvido_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON olvido.copies TO olvido_app, olvido_worker;

ALTER TABLE olvido.ledger_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.ledger_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY applied ON olvido.ledger_entries TO olvido_app, olvido_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON olvido.ledger_entries TO olvido_app, olvido_worker;

-- A request sees the holds of its own life, in order to keep what they name, and cannot place or release one.
ALTER TABLE olvido.legal_holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.legal_holds FORCE ROW LEVEL SECURITY;
CREATE POLICY scope_read ON olvido.legal_holds FOR SELECT TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject());
CREATE POLICY tenant ON olvido.legal_holds TO olvido_worker
    USING (tenant_id = olvido.current_tenant()) WITH CHECK (tenant_id = olvido.current_tenant());
GRANT SELECT ON olvido.legal_holds TO olvido_app;
GRANT SELECT, INSERT, DELETE ON olvido.legal_holds TO olvido_worker;

ALTER TABLE olvido.held_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.held_records FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.held_records FOR INSERT TO olvido_app
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY tenant ON olvido.held_records TO olvido_worker
    USING (tenant_id = olvido.current_tenant()) WITH CHECK (tenant_id = olvido.current_tenant());
GRANT INSERT ON olvido.held_records TO olvido_app;
GRANT SELECT, INSERT, DELETE ON olvido.held_records TO olvido_worker;

-- A sealed row is never touched again.
CREATE POLICY tenant_seal ON olvido.audit_log FOR UPDATE TO olvido_worker
    USING (tenant_id = olvido.current_tenant() AND seal IS NULL)
    WITH CHECK (tenant_id = olvido.current_tenant() AND seal IS NOT NULL);
GRANT UPDATE (seal) ON olvido.audit_log TO olvido_worker;

ALTER TABLE olvido.audit_seals ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.audit_seals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.audit_seals FOR INSERT TO olvido_worker
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY tenant_read ON olvido.audit_seals FOR SELECT TO olvido_worker
    USING (tenant_id = olvido.current_tenant());
GRANT SELECT, INSERT ON olvido.audit_seals TO olvido_worker;

ALTER TABLE olvido.sealing ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.sealing FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_open ON olvido.sealing FOR INSERT TO olvido_app
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY work ON olvido.sealing TO olvido_worker USING (true) WITH CHECK (true);
GRANT INSERT ON olvido.sealing TO olvido_app;
GRANT SELECT, INSERT, UPDATE ON olvido.sealing TO olvido_worker;

-- Begin a life: true if this call minted it, false if another did or the tenant is closed.
CREATE OR REPLACE FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM set_config('olvido.tenant', tenant, true), set_config('olvido.external', external, true);
    PERFORM olvido.queue(tenant, false);
    INSERT INTO olvido.tenants (tenant_id, opened_at) VALUES (tenant, at) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO olvido.sealing (tenant_id, due_at) VALUES (tenant, '-infinity');
    END IF;
    -- The lock makes the row be judged as it is after any concurrent closing has committed.
    INSERT INTO olvido.subjects (tenant_id, subject_key, external_id, created_at)
    SELECT t.tenant_id, minted, external, at
      FROM olvido.tenants t WHERE t.tenant_id = tenant AND t.closed_at IS NULL FOR KEY SHARE
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM set_config('olvido.subject', minted::text, true);
    INSERT INTO olvido.lives (tenant_id, subject_key, repair_after) VALUES (tenant, minted, '-infinity');
    RETURN true;
END $$;

-- The eraser rewrites relations and their indexes, and reads none of them. It names leaves one by one, so that others
-- are read meanwhile; therefore it has the right on each leaf.
CREATE FUNCTION olvido.let_rewrite(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('GRANT MAINTAIN ON %s TO olvido_eraser', relation);
END $$;
SELECT olvido.let_rewrite(c.oid::regclass) FROM pg_catalog.pg_class c
 WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_version';

-- Write a relation and its indexes anew in the order of its key, without the rows that nobody can see any more. How many
-- removed rows somebody can still see, which therefore are in it again, the server says in a message. The lock keeps
-- everyone out: waited is how long it took to get, took how long it was held until here. ended: every transaction before
-- this one had ended when everyone was out. Not the next number: who has a number already may come here to remove later.
CREATE FUNCTION olvido.rewrite(
    relation regclass, OUT before oid, OUT after oid, OUT ended xid8, OUT begun_at timestamptz,
    OUT waited interval, OUT took interval
) LANGUAGE plpgsql AS $$
DECLARE
    asked timestamptz := clock_timestamp();
BEGIN
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation);
    begun_at := clock_timestamp();
    ended := pg_snapshot_xmin(pg_current_snapshot());
    before := pg_relation_filenode(relation);
    EXECUTE (SELECT format('CLUSTER (VERBOSE) %s USING %I', relation, c.relname)
               FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
              WHERE i.indrelid = relation AND i.indisprimary);
    after := pg_relation_filenode(relation);
    waited := begun_at - asked;
    took := clock_timestamp() - begun_at;
END $$;
GRANT EXECUTE ON FUNCTION olvido.rewrite TO olvido_eraser;

-- Hash-partition the large relations by tenant into `leaves` leaves. Once; returns how many were made.
CREATE OR REPLACE FUNCTION olvido.create_leaves(leaves integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent record;
    leaf text;
    made integer := 0;
BEGIN
    FOR parent IN
        SELECT c.oid::regclass AS relation, c.relname FROM pg_catalog.pg_class c
         WHERE c.relnamespace = 'olvido'::regnamespace AND c.relkind = 'p'
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
         ORDER BY c.relname
    LOOP
        FOR i IN 0 .. leaves - 1 LOOP
            leaf := format('olvido.%I', parent.relname || '_' || i);
            EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                           leaf, parent.relation, leaves, i);
            PERFORM olvido.wall(leaf::regclass), olvido.silence(leaf::regclass), olvido.let_rewrite(leaf::regclass);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

SELECT olvido.silence(r)
  FROM unnest(ARRAY[
    'olvido.erasures', 'olvido.erasure_steps', 'olvido.rewrites', 'olvido.erasure_identifiers', 'olvido.copies',
    'olvido.ledger_entries', 'olvido.legal_holds', 'olvido.held_records', 'olvido.audit_log', 'olvido.audit_seals', 'olvido.sealing'
  ]::regclass[]) AS r;
