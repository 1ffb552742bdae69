-- What recall ranks by. Words become numbers made by the application, one for each word of a text, so that one inner
-- product tells how often a record has each word of a question; the words themselves stand in the record only. What was
-- indexed before has no such numbers yet: it is found by meaning, and the worker that repairs the index adds them.

ALTER TABLE olvido.index_entries
    DROP COLUMN terms,
    DROP COLUMN term_count,
    -- The version of what made the numbers: those of different versions are never compared.
    ADD COLUMN lexer text,
    ADD COLUMN words sparsevec(268435456),
    ADD COLUMN word_count integer CHECK (word_count >= 0),
    -- Order numbers, case ids and the like, lower case, for what is only a part of one.
    ADD COLUMN identifiers text NOT NULL DEFAULT '',
    ADD COLUMN product text,
    ADD COLUMN speaker text,
    ADD COLUMN timed boolean NOT NULL DEFAULT false,
    ADD CHECK ((lexer IS NULL) = (words IS NULL) AND (lexer IS NULL) = (word_count IS NULL)),
    -- In the row while it fits: a default sparsevec goes out of line, where it is read several times slower.
    ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE olvido.index_entries ALTER COLUMN identifiers DROP DEFAULT, ALTER COLUMN timed DROP DEFAULT;

DROP FUNCTION olvido.lex, olvido.term_count;
DROP TEXT SEARCH CONFIGURATION
    olvido.plain, olvido.folded_es, olvido.folded_pt, olvido.plain_en, olvido.plain_es, olvido.plain_pt;
DROP TEXT SEARCH DICTIONARY olvido.words, olvido.words_en, olvido.words_es, olvido.words_pt;

-- One row a life, so that a worker finds what to repair without seeing anybody's records: opaque keys and the name of
-- a model. indexed_by: what every index entry of the life was made by; NULL where some may be of another or of none.
-- repair_after: several workers repair, and whoever takes a life says until when it is the only one at it, so that texts
-- are not embedded twice, and says it again with each batch; after that instant the life of a worker that died is free. A
-- life that could not be finished has the instant of the last try, so that every other one that waits comes before it.
CREATE TABLE olvido.lives (
    tenant_id text COLLATE "C" NOT NULL,
    subject_key uuid NOT NULL,
    indexed_by text COLLATE "C",
    repair_after timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject_key),
    FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects
);
CREATE INDEX lives_repair ON olvido.lives (indexed_by, repair_after);

-- The lives that are there already. The owner is not above row security, so it steps aside for this one statement.
ALTER TABLE olvido.subjects NO FORCE ROW LEVEL SECURITY;
INSERT INTO olvido.lives (tenant_id, subject_key, repair_after)
SELECT tenant_id, subject_key, '-infinity' FROM olvido.subjects;
ALTER TABLE olvido.subjects FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.lives ENABLE ROW LEVEL SECURITY;
ALTER TABLE olvido.lives FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON olvido.lives TO olvido_app
    USING (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject())
    WITH CHECK (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject());
CREATE POLICY work ON olvido.lives TO olvido_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON olvido.lives TO olvido_app, olvido_worker;

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

SELECT olvido.silence('olvido.lives'), olvido.silence('olvido.index_entries');
SELECT olvido.silence(inhrelid::regclass)
  FROM pg_catalog.pg_inherits WHERE inhparent = 'olvido.index_entries'::regclass;
