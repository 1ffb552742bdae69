-- Several workers repair the index. Whoever takes a life says until when it is the only one at it, so that no text is
-- embedded twice, and says it again with each batch; after that instant the life of a worker that died is free. A life
-- that could not be finished has the instant of the last try, so that every other one that waits comes before it.
ALTER TABLE olvido.lives ADD COLUMN repair_after timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE olvido.lives ALTER COLUMN repair_after DROP DEFAULT;
DROP INDEX olvido.lives_indexed_by;
CREATE INDEX lives_repair ON olvido.lives (indexed_by, repair_after);

-- Begin a life: true if this call minted it, false if another did or the tenant is closed.
CREATE OR REPLACE FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamptz) RETURNS boolean
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
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM set_config('olvido.subject', minted::text, true);
    INSERT INTO olvido.lives (tenant_id, subject_key, repair_after) VALUES (tenant, minted, '-infinity');
    RETURN true;
END $$;
