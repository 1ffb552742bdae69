-- Run by `olvido migrate` before the numbered migrations, with a login that may create roles and extensions.
-- Roles belong to the whole server, so each step does nothing where its result is there already.
DO $$
DECLARE
    role name;
BEGIN
    FOREACH role IN ARRAY ARRAY['olvido_owner', 'olvido_app', 'olvido_worker', 'olvido_eraser']::name[] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS', role);
        END IF;
    END LOOP;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- two databases of one server migrated at the same moment: the other one made it
END $$;
DO $$
BEGIN
    IF NOT pg_catalog.pg_has_role(current_user, 'olvido_owner', 'SET') THEN
        EXECUTE format('GRANT olvido_owner TO %I', current_user);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector') THEN
        CREATE EXTENSION vector;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'unaccent') THEN
        CREATE EXTENSION unaccent;
    END IF;
    IF pg_catalog.to_regnamespace('olvido') IS NULL THEN
        CREATE SCHEMA olvido AUTHORIZATION olvido_owner;
    END IF;
    -- Temporary tables would be a place outside the data map.
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END $$;
-- What the eraser needs beside the rights on relations, in order to see who still holds removed rows and to have the
-- write-ahead log turned over. A managed server may not let this login grant it: what cannot be done then is said in
-- the erasures that it holds up.
DO $$
BEGIN
    IF NOT pg_catalog.pg_has_role('olvido_eraser', 'pg_read_all_stats', 'USAGE') THEN
        GRANT pg_read_all_stats TO olvido_eraser;
    END IF;
EXCEPTION WHEN insufficient_privilege OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF NOT pg_catalog.pg_has_role('olvido_eraser', 'pg_checkpoint', 'USAGE') THEN
        GRANT pg_checkpoint TO olvido_eraser;
    END IF;
EXCEPTION WHEN insufficient_privilege OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF NOT pg_catalog.has_function_privilege('olvido_eraser', 'pg_switch_wal()', 'EXECUTE') THEN
        GRANT EXECUTE ON FUNCTION pg_catalog.pg_switch_wal() TO olvido_eraser;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;
DO $$
BEGIN
    IF NOT pg_catalog.has_function_privilege('olvido_eraser', 'pg_ls_waldir()', 'EXECUTE') THEN
        GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_waldir() TO olvido_eraser;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;
DO $$
BEGIN
    IF NOT pg_catalog.has_function_privilege('olvido_eraser', 'pg_ls_dir(text, boolean, boolean)', 'EXECUTE') THEN
        GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text, boolean, boolean) TO olvido_eraser;
    END IF;
    IF NOT pg_catalog.has_function_privilege('olvido_eraser', 'pg_stat_file(text, boolean)', 'EXECUTE') THEN
        GRANT EXECUTE ON FUNCTION pg_catalog.pg_stat_file(text, boolean) TO olvido_eraser;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;
