-- Row security: policy before grant, forced on every relation. The names of the policies are what start-up and the
-- catalogue test look for.

ALTER TABLE olvido.schema_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.schema_version FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON olvido.schema_version FOR SELECT TO olvido_app, olvido_worker, olvido_eraser USING (true);
CREATE POLICY migrated ON olvido.schema_version TO olvido_owner USING (true) WITH CHECK (true);
GRANT SELECT ON olvido.schema_version TO olvido_app, olvido_worker, olvido_eraser;

ALTER TABLE olvido.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_read ON olvido.tenants FOR SELECT TO olvido_app, olvido_worker
    USING (tenant_id = olvido.current_tenant());
CREATE POLICY tenant_open ON olvido.tenants FOR INSERT TO olvido_app, olvido_worker
    WITH CHECK (tenant_id = olvido.current_tenant() AND closed_at IS NULL);
-- A request may lock the row (which takes the right to update it) but never change it.
CREATE POLICY tenant_lock ON olvido.tenants FOR UPDATE TO olvido_app
    USING (tenant_id = olvido.current_tenant()) WITH CHECK (false);
-- A worker closes a company; nobody at run time opens it again.
CREATE POLICY tenant_close ON olvido.tenants FOR UPDATE TO olvido_worker
    USING (tenant_id = olvido.current_tenant())
    WITH CHECK (tenant_id = olvido.current_tenant() AND closed_at IS NOT NULL);
GRANT SELECT, INSERT, UPDATE (closed_at) ON olvido.tenants TO olvido_app, olvido_worker;

-- A request sees the one subject it names; a worker sees the keys of one tenant.
ALTER TABLE olvido.subjects ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.subjects FORCE ROW LEVEL SECURITY;
CREATE POLICY subject_read ON olvido.subjects FOR SELECT TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND external_id = olvido.current_external());
CREATE POLICY subject_begin ON olvido.subjects FOR INSERT TO olvido_app
    WITH CHECK (tenant_id = olvido.current_tenant() AND external_id = olvido.current_external());
CREATE POLICY subject_lock ON olvido.subjects FOR UPDATE TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND external_id = olvido.current_external()) WITH CHECK (false);
CREATE POLICY subject_end ON olvido.subjects FOR DELETE TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND external_id = olvido.current_external());
CREATE POLICY tenant_read ON olvido.subjects FOR SELECT TO olvido_worker
    USING (tenant_id = olvido.current_tenant());
CREATE POLICY tenant_lock ON olvido.subjects FOR UPDATE TO olvido_worker
    USING (tenant_id = olvido.current_tenant()) WITH CHECK (false);
CREATE POLICY tenant_end ON olvido.subjects FOR DELETE TO olvido_worker
    USING (tenant_id = olvido.current_tenant());
GRANT SELECT, INSERT, UPDATE (created_at), DELETE ON olvido.subjects TO olvido_app;
GRANT SELECT, UPDATE (created_at), DELETE ON olvido.subjects TO olvido_worker;

ALTER TABLE olvido.due ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.due FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON olvido.due TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject())
    WITH CHECK (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject());
CREATE POLICY work ON olvido.due TO olvido_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON olvido.due TO olvido_app, olvido_worker;

-- Append-only: nobody at run time updates or deletes, and a request does not read.
ALTER TABLE olvido.audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.audit_log FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_append ON olvido.audit_log FOR INSERT TO olvido_app, olvido_worker
    WITH CHECK (tenant_id = olvido.current_tenant());
CREATE POLICY tenant_read ON olvido.audit_log FOR SELECT TO olvido_worker
    USING (tenant_id = olvido.current_tenant());
GRANT INSERT ON olvido.audit_log TO olvido_app;
GRANT SELECT, INSERT ON olvido.audit_log TO olvido_worker;

-- One wall for every relation of class subject, partition leaves included (a parent's policy does not guard a leaf
-- that is addressed directly, so leaves get the same wall and no grant).
CREATE FUNCTION olvido.wall(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format(
        'CREATE POLICY scope ON %s TO olvido_app, olvido_worker '
        'USING (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject()) '
        'WITH CHECK (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject())', relation);
END $$;

-- ANALYZE would copy values into pg_statistic, where they survive the row: no statistics on anything but instants
-- and numbers.
CREATE FUNCTION olvido.silence(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    attribute name;
BEGIN
    FOR attribute IN
        SELECT a.attname FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
           AND a.atttypid NOT IN ('timestamptz'::regtype, 'integer'::regtype, 'boolean'::regtype)
    LOOP
        EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET STATISTICS 0', relation, attribute);
    END LOOP;
END $$;

-- Hash-partition the large relations by tenant into `leaves` leaves. Once; returns how many were made.
CREATE FUNCTION olvido.create_leaves(leaves integer) RETURNS integer LANGUAGE plpgsql AS $$
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
            PERFORM olvido.wall(leaf::regclass), olvido.silence(leaf::regclass);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

SELECT olvido.wall(r), olvido.silence(r)
  FROM unnest(ARRAY[
    'olvido.preferences', 'olvido.preference_versions', 'olvido.episodes', 'olvido.index_entries',
    'olvido.sessions', 'olvido.session_items', 'olvido.messages', 'olvido.summaries', 'olvido.summary_sources'
  ]::regclass[]) AS r;
SELECT olvido.silence(r)
  FROM unnest(ARRAY['olvido.tenants', 'olvido.subjects', 'olvido.due', 'olvido.audit_log']::regclass[]) AS r;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    olvido.preferences, olvido.preference_versions, olvido.episodes, olvido.index_entries, olvido.sessions,
    olvido.session_items, olvido.messages, olvido.summaries, olvido.summary_sources
    TO olvido_app, olvido_worker;
