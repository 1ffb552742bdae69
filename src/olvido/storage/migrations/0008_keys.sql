-- Whoever removes many records looks each one up by its key. Without statistics on keys (0004 says why), two unique
-- indexes that begin alike cost the planner the same, and it takes the one that was made last: with the wrong one, a
-- lookup reads all that the person has, and a forget takes time with the square of it. So the primary key comes last.
-- RESTRICT, for what was removed is never put back in the same statement: the default would look for that each time.
ALTER TABLE olvido.summary_sources
    DROP CONSTRAINT summary_sources_tenant_id_subject_key_episode_id_fkey,
    DROP CONSTRAINT summary_sources_tenant_id_subject_key_summary_id_fkey;
ALTER TABLE olvido.episodes
    DROP CONSTRAINT episodes_pkey, ADD PRIMARY KEY (tenant_id, subject_key, record_id);
ALTER TABLE olvido.summaries
    DROP CONSTRAINT summaries_pkey, ADD PRIMARY KEY (tenant_id, subject_key, record_id);
ALTER TABLE olvido.summary_sources
    ADD FOREIGN KEY (tenant_id, subject_key, summary_id) REFERENCES olvido.summaries ON DELETE RESTRICT,
    ADD FOREIGN KEY (tenant_id, subject_key, episode_id) REFERENCES olvido.episodes ON DELETE RESTRICT;
