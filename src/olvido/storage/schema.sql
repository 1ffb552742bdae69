-- The schema as the migrations leave it, to be read in one piece. Nothing runs this file: `make schema` writes it.
-- Leaves are left out: how many there are is the choice of each deployment, and each has the wall of its parent.

CREATE SCHEMA olvido;

ALTER SCHEMA olvido OWNER TO olvido_owner;

CREATE FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamp with time zone) OWNER TO olvido_owner;

CREATE FUNCTION olvido.copy_of(relation regclass) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    RETURN (SELECT format('olvido.%I'::text, ((c.relname)::text || '_copy'::text)) AS format FROM pg_class c WHERE (c.oid = (copy_of.relation)::oid));

ALTER FUNCTION olvido.copy_of(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.copying(relation regclass, OUT read text, OUT write text) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT format('COPY (SELECT * FROM %s ORDER BY %s) TO STDOUT (FORMAT binary)', relation, k.columns),
           format('COPY %s FROM STDIN (FORMAT binary, FREEZE)', olvido.copy_of(relation))
      FROM (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY o.position) AS columns
              FROM pg_catalog.pg_index i
             CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS o (attnum, position)
              JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = o.attnum
             WHERE i.indrelid = relation AND i.indisprimary) AS k
$$;

ALTER FUNCTION olvido.copying(relation regclass, OUT read text, OUT write text) OWNER TO olvido_owner;

CREATE FUNCTION olvido.count_copy(relation regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    EXECUTE format('ANALYZE %s', olvido.copy_of(relation));
END $$;

ALTER FUNCTION olvido.count_copy(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.create_leaves(leaves integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.create_leaves(leaves integer) OWNER TO olvido_owner;

CREATE FUNCTION olvido.current_external() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('olvido.external'::text, true), ''::text);

ALTER FUNCTION olvido.current_external() OWNER TO olvido_owner;

CREATE FUNCTION olvido.current_subject() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (NULLIF(current_setting('olvido.subject'::text, true), ''::text))::uuid;

ALTER FUNCTION olvido.current_subject() OWNER TO olvido_owner;

CREATE FUNCTION olvido.current_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('olvido.tenant'::text, true), ''::text);

ALTER FUNCTION olvido.current_tenant() OWNER TO olvido_owner;

CREATE FUNCTION olvido.digest(rows text[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(r, E'\n' ORDER BY r COLLATE "C"), ''), 'UTF8')), 'hex')
      FROM unnest(rows) AS r
$$;

ALTER FUNCTION olvido.digest(rows text[]) OWNER TO olvido_owner;

CREATE FUNCTION olvido.enter_life(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.enter_life(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) OWNER TO olvido_owner;

CREATE FUNCTION olvido.enter_scope(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.enter_scope(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) OWNER TO olvido_owner;

CREATE FUNCTION olvido.later_rows(relation regclass, since xid, OUT rows bigint, OUT later bigint, OUT read text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $_$
DECLARE
    places tid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'this takes a transaction that sees what was committed since it began';
    END IF;
    EXECUTE format('SELECT count(*), coalesce(array_agg(ctid) FILTER (WHERE age(xmin) <= age($1)), ''{}'') FROM %s', relation)
       INTO rows, places USING since;
    later := cardinality(places);
    read := format('COPY (SELECT * FROM %s WHERE ctid = ANY (%L::tid[])) TO STDOUT (FORMAT binary)', relation, places);
END $_$;

ALTER FUNCTION olvido.later_rows(relation regclass, since xid, OUT rows bigint, OUT later bigint, OUT read text) OWNER TO olvido_owner;

CREATE FUNCTION olvido.let_rewrite(relation regclass) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format('GRANT MAINTAIN ON %s TO olvido_eraser', relation);
END $$;

ALTER FUNCTION olvido.let_rewrite(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.make_copy(relation regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    PERFORM set_config('default_tablespace', coalesce((SELECT t.spcname FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = relation), ''), true);
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)', olvido.copy_of(relation), relation);
    PERFORM olvido.silence(olvido.copy_of(relation)::regclass);
END $$;

ALTER FUNCTION olvido.make_copy(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.parent_of(relation regclass) RETURNS regclass
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    RETURN (SELECT (i.inhparent)::regclass AS inhparent FROM pg_inherits i WHERE (i.inhrelid = (parent_of.relation)::oid));

ALTER FUNCTION olvido.parent_of(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.queue(scope_key text, alone boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(scope_key, 1));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(scope_key, 1));
    END IF;
END $$;

ALTER FUNCTION olvido.queue(scope_key text, alone boolean) OWNER TO olvido_owner;

CREATE FUNCTION olvido.rewrite(relation regclass, OUT before oid, OUT after oid, OUT ended xid8, OUT begun_at timestamp with time zone, OUT waited interval, OUT took interval) RETURNS record
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.rewrite(relation regclass, OUT before oid, OUT after oid, OUT ended xid8, OUT begun_at timestamp with time zone, OUT waited interval, OUT took interval) OWNER TO olvido_owner;

CREATE FUNCTION olvido.shut(relation regclass, OUT begun_at timestamp with time zone, OUT waited interval) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
DECLARE
    asked timestamptz := clock_timestamp();
    other regclass;
BEGIN
    LOCK TABLE olvido.subjects IN ACCESS EXCLUSIVE MODE;
    FOR other IN
        SELECT DISTINCT CASE WHEN k.conrelid = relation THEN k.confrelid ELSE k.conrelid END::regclass
          FROM pg_catalog.pg_constraint k
         WHERE k.contype = 'f' AND (k.conrelid = relation OR k.confrelid = olvido.parent_of(relation) AND k.conparentid = 0)
         ORDER BY 1
    LOOP
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', other);
    END LOOP;
    -- A key that refers to the parent is made again, for which all of its leaves are locked.
    IF EXISTS (SELECT FROM pg_catalog.pg_constraint k
                WHERE k.contype = 'f' AND k.confrelid = olvido.parent_of(relation) AND k.conparentid = 0) THEN
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', olvido.parent_of(relation));
    ELSE
        EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', olvido.parent_of(relation));
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation);
    END IF;
    begun_at := clock_timestamp();
    waited := begun_at - asked;
END $$;

ALTER FUNCTION olvido.shut(relation regclass, OUT begun_at timestamp with time zone, OUT waited interval) OWNER TO olvido_owner;

CREATE FUNCTION olvido.silence(relation regclass) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

ALTER FUNCTION olvido.silence(relation regclass) OWNER TO olvido_owner;

CREATE FUNCTION olvido.swap(relation regclass, OUT before oid, OUT after oid) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
DECLARE
    copy regclass := olvido.copy_of(relation);
    parent regclass := olvido.parent_of(relation);
    leaf name;
    bound text;
    keys text;
    dropping text[];
    referring text[];
    statement text;
BEGIN
    before := pg_relation_filenode(relation);
    after := pg_relation_filenode(copy);
    SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) INTO leaf, bound
      FROM pg_catalog.pg_class c WHERE c.oid = relation;
    SELECT string_agg(format('ADD %s', pg_get_constraintdef(oid)), ', ') INTO keys
      FROM pg_catalog.pg_constraint WHERE conrelid = relation AND contype = 'f';
    -- Keys that refer to the rows of the leaf hold it fast. They are made again, and checked.
    SELECT array_agg(format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)),
           array_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)))
      INTO dropping, referring
      FROM pg_catalog.pg_constraint WHERE confrelid = parent AND contype = 'f' AND conparentid = 0;
    FOREACH statement IN ARRAY coalesce(dropping, '{}') LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('DROP TABLE %s', relation);
    EXECUTE format('ALTER TABLE %s RENAME TO %I', copy, leaf);
    FOR statement IN
        SELECT format('ALTER INDEX %s RENAME TO %I', i.indexrelid::regclass,
                      leaf || substr(c.relname, length(leaf || '_copy') + 1))
          FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = copy AND starts_with(c.relname, leaf || '_copy')
    LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE %s %s', copy, keys);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s %s', parent, copy, bound);
    PERFORM olvido.wall(copy), olvido.let_rewrite(copy);
    FOREACH statement IN ARRAY coalesce(referring, '{}') LOOP
        EXECUTE statement;
    END LOOP;
END $$;

ALTER FUNCTION olvido.swap(relation regclass, OUT before oid, OUT after oid) OWNER TO olvido_owner;

CREATE FUNCTION olvido.wall(relation regclass) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format(
        'CREATE POLICY scope ON %s TO olvido_app, olvido_worker '
        'USING (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject()) '
        'WITH CHECK (tenant_id = olvido.current_tenant() AND subject_key = olvido.current_subject())', relation);
END $$;

ALTER FUNCTION olvido.wall(relation regclass) OWNER TO olvido_owner;

CREATE TABLE olvido.audit_log (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    audit_id uuid NOT NULL,
    subject_key uuid,
    action text NOT NULL,
    kind text NOT NULL,
    record_id uuid,
    counts jsonb NOT NULL,
    policy_version text NOT NULL,
    at timestamp with time zone NOT NULL,
    seal bigint,
    CONSTRAINT audit_log_action_check CHECK ((action ~ '^[a-z_]+$'::text)),
    CONSTRAINT audit_log_kind_check CHECK ((kind ~ '^[a-z_]+$'::text)),
    CONSTRAINT audit_log_tenant_id_check CHECK ((tenant_id <> ''::text))
);
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN audit_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN action SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN counts SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN policy_version SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_log ALTER COLUMN seal SET STATISTICS 0;

ALTER TABLE ONLY olvido.audit_log FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.audit_log OWNER TO olvido_owner;

CREATE TABLE olvido.audit_seals (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    seal bigint NOT NULL,
    rows integer NOT NULL,
    digest text NOT NULL,
    previous text NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    CONSTRAINT audit_seals_rows_check CHECK ((rows > 0)),
    CONSTRAINT audit_seals_seal_check CHECK ((seal > 0)),
    CONSTRAINT audit_seals_tenant_id_check CHECK ((tenant_id <> ''::text))
);
ALTER TABLE ONLY olvido.audit_seals ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_seals ALTER COLUMN seal SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_seals ALTER COLUMN digest SET STATISTICS 0;
ALTER TABLE ONLY olvido.audit_seals ALTER COLUMN previous SET STATISTICS 0;

ALTER TABLE ONLY olvido.audit_seals FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.audit_seals OWNER TO olvido_owner;

CREATE TABLE olvido.copies (
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    holder text NOT NULL,
    retention_seconds bigint,
    connector text,
    declared_at timestamp with time zone NOT NULL,
    last_declared_at timestamp with time zone NOT NULL,
    CONSTRAINT copies_name_check CHECK ((name <> ''::text)),
    CONSTRAINT copies_retention_seconds_check CHECK ((retention_seconds > 0))
);
ALTER TABLE ONLY olvido.copies ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY olvido.copies ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY olvido.copies ALTER COLUMN holder SET STATISTICS 0;
ALTER TABLE ONLY olvido.copies ALTER COLUMN retention_seconds SET STATISTICS 0;
ALTER TABLE ONLY olvido.copies ALTER COLUMN connector SET STATISTICS 0;

ALTER TABLE ONLY olvido.copies FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.copies OWNER TO olvido_owner;

CREATE TABLE olvido.due (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    next_due_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY olvido.due ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.due ALTER COLUMN subject_key SET STATISTICS 0;

ALTER TABLE ONLY olvido.due FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.due OWNER TO olvido_owner;

CREATE TABLE olvido.episodes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    definition text NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    case_id text COLLATE pg_catalog."C",
    status text,
    fields jsonb NOT NULL,
    language text NOT NULL,
    purpose text NOT NULL,
    untrusted boolean NOT NULL,
    origin_class text NOT NULL,
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamp with time zone,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    policy_version text NOT NULL,
    CONSTRAINT episodes_event_id_check CHECK ((event_id <> ''::text)),
    CONSTRAINT episodes_language_check CHECK ((language = ANY (ARRAY['en'::text, 'es'::text, 'pt'::text, 'other'::text]))),
    CONSTRAINT episodes_origin_class_check CHECK ((origin_class = ANY (ARRAY['declared'::text, 'observed'::text, 'inferred'::text])))
)
PARTITION BY HASH (tenant_id);
ALTER TABLE ONLY olvido.episodes ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN definition SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN event_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN case_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN status SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN fields SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN language SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN purpose SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN origin_class SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN origin_source SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN origin_ref SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN origin_actor SET STATISTICS 0;
ALTER TABLE ONLY olvido.episodes ALTER COLUMN policy_version SET STATISTICS 0;

ALTER TABLE ONLY olvido.episodes FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.episodes OWNER TO olvido_owner;

CREATE TABLE olvido.erasure_identifiers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    erasure_id uuid NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT erasure_identifiers_external_id_check CHECK ((external_id <> ''::text))
);
ALTER TABLE ONLY olvido.erasure_identifiers ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_identifiers ALTER COLUMN erasure_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_identifiers ALTER COLUMN external_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.erasure_identifiers FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasure_identifiers OWNER TO olvido_owner;

CREATE TABLE olvido.erasure_steps (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    erasure_id uuid NOT NULL,
    step text NOT NULL,
    level text NOT NULL,
    kind text NOT NULL,
    holder text NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone,
    blocker text,
    evidence jsonb NOT NULL,
    settled_at timestamp with time zone,
    CONSTRAINT erasure_steps_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT erasure_steps_level_check CHECK ((level = ANY (ARRAY['E1'::text, 'E2'::text, 'E3'::text, 'E4'::text, 'E5'::text]))),
    CONSTRAINT erasure_steps_status_check CHECK ((status = ANY (ARRAY['open'::text, 'requested'::text, 'rows_absent'::text, 'verified'::text, 'remaining'::text, 'unverified'::text, 'manual'::text, 'confirmed'::text, 'expired'::text, 'needs_attention'::text]))),
    CONSTRAINT erasure_steps_step_check CHECK ((step <> ''::text))
);
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN erasure_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN step SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN level SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN holder SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN status SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN blocker SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasure_steps ALTER COLUMN evidence SET STATISTICS 0;

ALTER TABLE ONLY olvido.erasure_steps FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasure_steps OWNER TO olvido_owner;

CREATE TABLE olvido.erasures (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    erasure_id uuid NOT NULL,
    subject_key uuid NOT NULL,
    target text NOT NULL,
    record_ids uuid[] NOT NULL,
    version integer,
    ledger_entry bigint NOT NULL,
    plan_hash text NOT NULL,
    planned jsonb NOT NULL,
    removed jsonb NOT NULL,
    held integer NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    removed_by xid8 NOT NULL,
    policy_version text NOT NULL,
    CONSTRAINT erasures_held_check CHECK ((held >= 0)),
    CONSTRAINT erasures_target_check CHECK ((target = ANY (ARRAY['record'::text, 'selection'::text, 'subject'::text, 'tenant'::text, 'hold'::text]))),
    CONSTRAINT erasures_tenant_id_check CHECK ((tenant_id <> ''::text)),
    CONSTRAINT erasures_version_check CHECK ((version > 0))
);
ALTER TABLE ONLY olvido.erasures ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN erasure_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN target SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN record_ids SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN ledger_entry SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN plan_hash SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN planned SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN removed SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN removed_by SET STATISTICS 0;
ALTER TABLE ONLY olvido.erasures ALTER COLUMN policy_version SET STATISTICS 0;

ALTER TABLE ONLY olvido.erasures FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasures OWNER TO olvido_owner;

CREATE TABLE olvido.held_records (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    hold_id uuid NOT NULL,
    removal_id uuid NOT NULL,
    relation text NOT NULL,
    "position" integer NOT NULL,
    record_id uuid NOT NULL,
    content jsonb NOT NULL,
    kept_at timestamp with time zone NOT NULL,
    CONSTRAINT held_records_position_check CHECK (("position" > 0)),
    CONSTRAINT held_records_relation_check CHECK ((relation <> ''::text))
);
ALTER TABLE ONLY olvido.held_records ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.held_records ALTER COLUMN hold_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.held_records ALTER COLUMN removal_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.held_records ALTER COLUMN relation SET STATISTICS 0;
ALTER TABLE ONLY olvido.held_records ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.held_records ALTER COLUMN content SET STATISTICS 0;

ALTER TABLE ONLY olvido.held_records FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.held_records OWNER TO olvido_owner;

CREATE TABLE olvido.index_entries (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    kind text NOT NULL,
    definition text NOT NULL,
    purpose text NOT NULL,
    case_id text COLLATE pg_catalog."C",
    status text,
    origin_class text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    language text NOT NULL,
    embedder text,
    embedding public.halfvec,
    lexer text,
    words public.sparsevec(268435456),
    word_count integer,
    identifiers text NOT NULL,
    product text,
    speaker text,
    timed boolean NOT NULL,
    CONSTRAINT index_entries_check CHECK (((embedder IS NULL) = (embedding IS NULL))),
    CONSTRAINT index_entries_check1 CHECK ((((lexer IS NULL) = (words IS NULL)) AND ((lexer IS NULL) = (word_count IS NULL)))),
    CONSTRAINT index_entries_kind_check CHECK ((kind = ANY (ARRAY['preference'::text, 'episode'::text]))),
    CONSTRAINT index_entries_language_check CHECK ((language = ANY (ARRAY['en'::text, 'es'::text, 'pt'::text, 'other'::text]))),
    CONSTRAINT index_entries_word_count_check CHECK ((word_count >= 0))
)
PARTITION BY HASH (tenant_id);
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN definition SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN purpose SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN case_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN status SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN origin_class SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN language SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN embedder SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN lexer SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN identifiers SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN product SET STATISTICS 0;
ALTER TABLE ONLY olvido.index_entries ALTER COLUMN speaker SET STATISTICS 0;

ALTER TABLE ONLY olvido.index_entries FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.index_entries OWNER TO olvido_owner;

CREATE TABLE olvido.ledger_entries (
    ledger_id uuid NOT NULL,
    entry bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    CONSTRAINT ledger_entries_entry_check CHECK ((entry >= 0))
);
ALTER TABLE ONLY olvido.ledger_entries ALTER COLUMN ledger_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.ledger_entries ALTER COLUMN entry SET STATISTICS 0;

ALTER TABLE ONLY olvido.ledger_entries FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.ledger_entries OWNER TO olvido_owner;

CREATE TABLE olvido.legal_holds (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    hold_id uuid NOT NULL,
    subject_key uuid NOT NULL,
    record_id uuid,
    basis text NOT NULL,
    review_at timestamp with time zone NOT NULL,
    placed_at timestamp with time zone NOT NULL,
    CONSTRAINT legal_holds_basis_check CHECK ((basis <> ''::text)),
    CONSTRAINT legal_holds_tenant_id_check CHECK ((tenant_id <> ''::text))
);
ALTER TABLE ONLY olvido.legal_holds ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.legal_holds ALTER COLUMN hold_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.legal_holds ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.legal_holds ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.legal_holds ALTER COLUMN basis SET STATISTICS 0;

ALTER TABLE ONLY olvido.legal_holds FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.legal_holds OWNER TO olvido_owner;

CREATE TABLE olvido.lives (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    indexed_by text COLLATE pg_catalog."C",
    repair_after timestamp with time zone NOT NULL
);
ALTER TABLE ONLY olvido.lives ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.lives ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.lives ALTER COLUMN indexed_by SET STATISTICS 0;

ALTER TABLE ONLY olvido.lives FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.lives OWNER TO olvido_owner;

CREATE TABLE olvido.messages (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    sequence integer NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    group_id text COLLATE pg_catalog."C",
    CONSTRAINT messages_group_id_check CHECK ((group_id <> ''::text)),
    CONSTRAINT messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'tool'::text, 'system'::text]))),
    CONSTRAINT messages_sequence_check CHECK ((sequence >= 0))
)
PARTITION BY HASH (tenant_id);
ALTER TABLE ONLY olvido.messages ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.messages ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.messages ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.messages ALTER COLUMN role SET STATISTICS 0;
ALTER TABLE ONLY olvido.messages ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY olvido.messages ALTER COLUMN group_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.messages FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.messages OWNER TO olvido_owner;

CREATE TABLE olvido.preference_versions (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    version integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value jsonb NOT NULL,
    change text NOT NULL,
    origin_class text NOT NULL,
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamp with time zone,
    said_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    retain_until timestamp with time zone,
    policy_version text NOT NULL,
    CONSTRAINT preference_versions_change_check CHECK ((change = ANY (ARRAY['set'::text, 'corrected'::text, 'reopened'::text]))),
    CONSTRAINT preference_versions_origin_class_check CHECK ((origin_class = ANY (ARRAY['declared'::text, 'observed'::text, 'inferred'::text]))),
    CONSTRAINT preference_versions_version_check CHECK ((version > 0))
);
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN change SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN origin_class SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN origin_source SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN origin_ref SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN origin_actor SET STATISTICS 0;
ALTER TABLE ONLY olvido.preference_versions ALTER COLUMN policy_version SET STATISTICS 0;

ALTER TABLE ONLY olvido.preference_versions FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.preference_versions OWNER TO olvido_owner;

CREATE TABLE olvido.preferences (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    record_id uuid NOT NULL,
    version integer NOT NULL,
    value jsonb NOT NULL,
    purpose text NOT NULL,
    origin_class text NOT NULL,
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamp with time zone,
    said_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    policy_version text NOT NULL,
    CONSTRAINT preferences_key_check CHECK ((key <> ''::text)),
    CONSTRAINT preferences_origin_class_check CHECK ((origin_class = ANY (ARRAY['declared'::text, 'observed'::text, 'inferred'::text]))),
    CONSTRAINT preferences_version_check CHECK ((version > 0))
);
ALTER TABLE ONLY olvido.preferences ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN purpose SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN origin_class SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN origin_source SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN origin_ref SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN origin_actor SET STATISTICS 0;
ALTER TABLE ONLY olvido.preferences ALTER COLUMN policy_version SET STATISTICS 0;

ALTER TABLE ONLY olvido.preferences FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.preferences OWNER TO olvido_owner;

CREATE TABLE olvido.rewrites (
    relation text NOT NULL COLLATE pg_catalog."C",
    gone_before xid8 NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    rested_until timestamp with time zone NOT NULL,
    evidence jsonb NOT NULL,
    CONSTRAINT rewrites_relation_check CHECK ((relation <> ''::text))
);
ALTER TABLE ONLY olvido.rewrites ALTER COLUMN relation SET STATISTICS 0;
ALTER TABLE ONLY olvido.rewrites ALTER COLUMN gone_before SET STATISTICS 0;
ALTER TABLE ONLY olvido.rewrites ALTER COLUMN evidence SET STATISTICS 0;

ALTER TABLE ONLY olvido.rewrites FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.rewrites OWNER TO olvido_owner;

CREATE TABLE olvido.schema_version (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ONLY olvido.schema_version FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.schema_version OWNER TO olvido_owner;

CREATE TABLE olvido.sealing (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone NOT NULL,
    CONSTRAINT sealing_tenant_id_check CHECK ((tenant_id <> ''::text))
);
ALTER TABLE ONLY olvido.sealing ALTER COLUMN tenant_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.sealing FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.sealing OWNER TO olvido_owner;

CREATE TABLE olvido.session_facts (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    record_id uuid NOT NULL,
    content text NOT NULL,
    messages integer[] NOT NULL,
    origin_class text NOT NULL,
    origin_source text NOT NULL,
    origin_ref text,
    origin_actor text,
    origin_at timestamp with time zone,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT session_facts_origin_class_check CHECK ((origin_class = ANY (ARRAY['declared'::text, 'observed'::text, 'inferred'::text]))),
    CONSTRAINT session_facts_position_check CHECK (("position" >= 0))
);
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN messages SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN origin_class SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN origin_source SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN origin_ref SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_facts ALTER COLUMN origin_actor SET STATISTICS 0;

ALTER TABLE ONLY olvido.session_facts FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.session_facts OWNER TO olvido_owner;

CREATE TABLE olvido.session_items (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    "position" integer NOT NULL,
    content text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    CONSTRAINT session_items_kind_check CHECK ((kind = ANY (ARRAY['decision'::text, 'constraint'::text, 'pending'::text]))),
    CONSTRAINT session_items_position_check CHECK (("position" >= 0))
);
ALTER TABLE ONLY olvido.session_items ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_items ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_items ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_items ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY olvido.session_items ALTER COLUMN content SET STATISTICS 0;

ALTER TABLE ONLY olvido.session_items FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.session_items OWNER TO olvido_owner;

CREATE TABLE olvido.sessions (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    record_id uuid NOT NULL,
    goal text,
    purpose text NOT NULL,
    message_count integer NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    policy_version text NOT NULL,
    folded_to integer NOT NULL,
    revision integer NOT NULL,
    CONSTRAINT sessions_check CHECK (((folded_to >= 0) AND (folded_to <= message_count))),
    CONSTRAINT sessions_message_count_check CHECK ((message_count >= 0)),
    CONSTRAINT sessions_session_id_check CHECK ((session_id <> ''::text))
);
ALTER TABLE ONLY olvido.sessions ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN session_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN goal SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN purpose SET STATISTICS 0;
ALTER TABLE ONLY olvido.sessions ALTER COLUMN policy_version SET STATISTICS 0;

ALTER TABLE ONLY olvido.sessions FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.sessions OWNER TO olvido_owner;

CREATE TABLE olvido.subjects (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT subjects_external_id_check CHECK (((external_id <> ''::text) AND (octet_length(external_id) <= 200)))
);
ALTER TABLE ONLY olvido.subjects ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.subjects ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.subjects ALTER COLUMN external_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.subjects FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.subjects OWNER TO olvido_owner;

CREATE TABLE olvido.summaries (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    record_id uuid NOT NULL,
    definition text NOT NULL,
    case_id text NOT NULL COLLATE pg_catalog."C",
    origin_class text NOT NULL,
    expires_at timestamp with time zone,
    built_at timestamp with time zone NOT NULL,
    CONSTRAINT summaries_case_id_check CHECK ((case_id <> ''::text)),
    CONSTRAINT summaries_origin_class_check CHECK ((origin_class = ANY (ARRAY['declared'::text, 'observed'::text, 'inferred'::text])))
);
ALTER TABLE ONLY olvido.summaries ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.summaries ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.summaries ALTER COLUMN record_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.summaries ALTER COLUMN definition SET STATISTICS 0;
ALTER TABLE ONLY olvido.summaries ALTER COLUMN case_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.summaries ALTER COLUMN origin_class SET STATISTICS 0;

ALTER TABLE ONLY olvido.summaries FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.summaries OWNER TO olvido_owner;

CREATE TABLE olvido.summary_sources (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject_key uuid NOT NULL,
    summary_id uuid NOT NULL,
    episode_id uuid NOT NULL
);
ALTER TABLE ONLY olvido.summary_sources ALTER COLUMN tenant_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.summary_sources ALTER COLUMN subject_key SET STATISTICS 0;
ALTER TABLE ONLY olvido.summary_sources ALTER COLUMN summary_id SET STATISTICS 0;
ALTER TABLE ONLY olvido.summary_sources ALTER COLUMN episode_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.summary_sources FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.summary_sources OWNER TO olvido_owner;

CREATE TABLE olvido.tenants (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    opened_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT tenants_tenant_id_check CHECK (((tenant_id <> ''::text) AND (octet_length(tenant_id) <= 200)))
);
ALTER TABLE ONLY olvido.tenants ALTER COLUMN tenant_id SET STATISTICS 0;

ALTER TABLE ONLY olvido.tenants FORCE ROW LEVEL SECURITY;

ALTER TABLE olvido.tenants OWNER TO olvido_owner;

ALTER TABLE ONLY olvido.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (tenant_id, audit_id);

ALTER TABLE ONLY olvido.audit_seals
    ADD CONSTRAINT audit_seals_pkey PRIMARY KEY (tenant_id, seal);

ALTER TABLE ONLY olvido.copies
    ADD CONSTRAINT copies_pkey PRIMARY KEY (name);

ALTER TABLE ONLY olvido.due
    ADD CONSTRAINT due_pkey PRIMARY KEY (tenant_id, subject_key);

ALTER TABLE ONLY olvido.episodes
    ADD CONSTRAINT episodes_pkey PRIMARY KEY (tenant_id, subject_key, record_id);

ALTER TABLE ONLY olvido.episodes
    ADD CONSTRAINT episodes_tenant_id_subject_key_definition_event_id_key UNIQUE (tenant_id, subject_key, definition, event_id);

ALTER TABLE ONLY olvido.erasure_identifiers
    ADD CONSTRAINT erasure_identifiers_pkey PRIMARY KEY (tenant_id, erasure_id);

ALTER TABLE ONLY olvido.erasure_steps
    ADD CONSTRAINT erasure_steps_pkey PRIMARY KEY (tenant_id, erasure_id, step);

ALTER TABLE ONLY olvido.erasures
    ADD CONSTRAINT erasures_pkey PRIMARY KEY (tenant_id, erasure_id);

ALTER TABLE ONLY olvido.held_records
    ADD CONSTRAINT held_records_pkey PRIMARY KEY (tenant_id, hold_id, removal_id, relation, "position");

ALTER TABLE ONLY olvido.index_entries
    ADD CONSTRAINT index_entries_pkey PRIMARY KEY (tenant_id, subject_key, record_id);

ALTER TABLE ONLY olvido.ledger_entries
    ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY (ledger_id, entry);

ALTER TABLE ONLY olvido.legal_holds
    ADD CONSTRAINT legal_holds_pkey PRIMARY KEY (tenant_id, hold_id);

ALTER TABLE ONLY olvido.lives
    ADD CONSTRAINT lives_pkey PRIMARY KEY (tenant_id, subject_key);

ALTER TABLE ONLY olvido.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (tenant_id, subject_key, session_id, sequence);

ALTER TABLE ONLY olvido.preference_versions
    ADD CONSTRAINT preference_versions_pkey PRIMARY KEY (tenant_id, subject_key, record_id, version);

ALTER TABLE ONLY olvido.preferences
    ADD CONSTRAINT preferences_pkey PRIMARY KEY (tenant_id, subject_key, key);

ALTER TABLE ONLY olvido.rewrites
    ADD CONSTRAINT rewrites_pkey PRIMARY KEY (relation);

ALTER TABLE ONLY olvido.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);

ALTER TABLE ONLY olvido.sealing
    ADD CONSTRAINT sealing_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY olvido.session_facts
    ADD CONSTRAINT session_facts_pkey PRIMARY KEY (tenant_id, subject_key, session_id, "position");

ALTER TABLE ONLY olvido.session_items
    ADD CONSTRAINT session_items_pkey PRIMARY KEY (tenant_id, subject_key, session_id, kind, "position");

ALTER TABLE ONLY olvido.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, subject_key, session_id);

ALTER TABLE ONLY olvido.subjects
    ADD CONSTRAINT subjects_pkey PRIMARY KEY (tenant_id, subject_key);

ALTER TABLE ONLY olvido.subjects
    ADD CONSTRAINT subjects_tenant_id_external_id_key UNIQUE (tenant_id, external_id);

ALTER TABLE ONLY olvido.summaries
    ADD CONSTRAINT summaries_pkey PRIMARY KEY (tenant_id, subject_key, record_id);

ALTER TABLE ONLY olvido.summaries
    ADD CONSTRAINT summaries_tenant_id_subject_key_definition_case_id_key UNIQUE (tenant_id, subject_key, definition, case_id);

ALTER TABLE ONLY olvido.summary_sources
    ADD CONSTRAINT summary_sources_pkey PRIMARY KEY (tenant_id, subject_key, summary_id, episode_id);

ALTER TABLE ONLY olvido.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id);

CREATE INDEX audit_log_forgotten ON olvido.audit_log USING btree (tenant_id, subject_key) WHERE (action = ANY (ARRAY['forget'::text, 'reopened'::text, 'imported'::text]));

CREATE INDEX audit_log_seal ON olvido.audit_log USING btree (tenant_id, seal) WHERE (seal IS NOT NULL);

CREATE INDEX audit_log_unsealed ON olvido.audit_log USING btree (tenant_id, audit_id) WHERE (seal IS NULL);

CREATE INDEX due_next ON olvido.due USING btree (next_due_at);

CREATE INDEX erasure_steps_due ON olvido.erasure_steps USING btree (level, due_at) WHERE (settled_at IS NULL);

CREATE INDEX ledger_entries_ledgers ON olvido.ledger_entries USING btree (ledger_id) WHERE (entry = 0);

CREATE INDEX legal_holds_life ON olvido.legal_holds USING btree (tenant_id, subject_key);

CREATE INDEX lives_repair ON olvido.lives USING btree (indexed_by, repair_after);

CREATE INDEX messages_group ON ONLY olvido.messages USING btree (tenant_id, subject_key, session_id, group_id, sequence) WHERE (group_id IS NOT NULL);

CREATE INDEX sealing_next ON olvido.sealing USING btree (due_at);

ALTER TABLE ONLY olvido.due
    ADD CONSTRAINT due_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE olvido.episodes
    ADD CONSTRAINT episodes_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.erasure_identifiers
    ADD CONSTRAINT erasure_identifiers_tenant_id_erasure_id_fkey FOREIGN KEY (tenant_id, erasure_id) REFERENCES olvido.erasures(tenant_id, erasure_id);

ALTER TABLE ONLY olvido.erasure_steps
    ADD CONSTRAINT erasure_steps_tenant_id_erasure_id_fkey FOREIGN KEY (tenant_id, erasure_id) REFERENCES olvido.erasures(tenant_id, erasure_id);

ALTER TABLE ONLY olvido.held_records
    ADD CONSTRAINT held_records_tenant_id_hold_id_fkey FOREIGN KEY (tenant_id, hold_id) REFERENCES olvido.legal_holds(tenant_id, hold_id);

ALTER TABLE olvido.index_entries
    ADD CONSTRAINT index_entries_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.lives
    ADD CONSTRAINT lives_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE olvido.messages
    ADD CONSTRAINT messages_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE olvido.messages
    ADD CONSTRAINT messages_tenant_id_subject_key_session_id_fkey FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions(tenant_id, subject_key, session_id);

ALTER TABLE ONLY olvido.preference_versions
    ADD CONSTRAINT preference_versions_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.preferences
    ADD CONSTRAINT preferences_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.session_facts
    ADD CONSTRAINT session_facts_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.session_facts
    ADD CONSTRAINT session_facts_tenant_id_subject_key_session_id_fkey FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions(tenant_id, subject_key, session_id);

ALTER TABLE ONLY olvido.session_items
    ADD CONSTRAINT session_items_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.session_items
    ADD CONSTRAINT session_items_tenant_id_subject_key_session_id_fkey FOREIGN KEY (tenant_id, subject_key, session_id) REFERENCES olvido.sessions(tenant_id, subject_key, session_id);

ALTER TABLE ONLY olvido.sessions
    ADD CONSTRAINT sessions_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.subjects
    ADD CONSTRAINT subjects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES olvido.tenants(tenant_id);

ALTER TABLE ONLY olvido.summaries
    ADD CONSTRAINT summaries_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.summary_sources
    ADD CONSTRAINT summary_sources_tenant_id_subject_key_episode_id_fkey FOREIGN KEY (tenant_id, subject_key, episode_id) REFERENCES olvido.episodes(tenant_id, subject_key, record_id) ON DELETE RESTRICT;

ALTER TABLE ONLY olvido.summary_sources
    ADD CONSTRAINT summary_sources_tenant_id_subject_key_fkey FOREIGN KEY (tenant_id, subject_key) REFERENCES olvido.subjects(tenant_id, subject_key);

ALTER TABLE ONLY olvido.summary_sources
    ADD CONSTRAINT summary_sources_tenant_id_subject_key_summary_id_fkey FOREIGN KEY (tenant_id, subject_key, summary_id) REFERENCES olvido.summaries(tenant_id, subject_key, record_id) ON DELETE RESTRICT;

CREATE POLICY applied ON olvido.ledger_entries TO olvido_app, olvido_worker USING (true) WITH CHECK (true);

ALTER TABLE olvido.audit_log ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.audit_seals ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.copies ENABLE ROW LEVEL SECURITY;

CREATE POLICY declared ON olvido.copies TO olvido_app, olvido_worker USING (true) WITH CHECK (true);

ALTER TABLE olvido.due ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.episodes ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasure_identifiers ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasure_steps ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.erasures ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.held_records ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.index_entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.ledger_entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.legal_holds ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.lives ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.messages ENABLE ROW LEVEL SECURITY;

CREATE POLICY migrated ON olvido.schema_version TO olvido_owner USING (true) WITH CHECK (true);

ALTER TABLE olvido.preference_versions ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.preferences ENABLE ROW LEVEL SECURITY;

CREATE POLICY readable ON olvido.schema_version FOR SELECT TO olvido_app, olvido_worker, olvido_eraser USING (true);

ALTER TABLE olvido.rewrites ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.schema_version ENABLE ROW LEVEL SECURITY;

CREATE POLICY scope ON olvido.due TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.episodes TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.index_entries TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.lives TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.messages TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.preference_versions TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.preferences TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.session_facts TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.session_items TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.sessions TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.summaries TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope ON olvido.summary_sources TO olvido_app, olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject()))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

CREATE POLICY scope_read ON olvido.legal_holds FOR SELECT TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (subject_key = olvido.current_subject())));

ALTER TABLE olvido.sealing ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.session_facts ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.session_items ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.sessions ENABLE ROW LEVEL SECURITY;

CREATE POLICY subject_begin ON olvido.subjects FOR INSERT TO olvido_app WITH CHECK (((tenant_id = olvido.current_tenant()) AND (external_id = olvido.current_external())));

CREATE POLICY subject_end ON olvido.subjects FOR DELETE TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (external_id = olvido.current_external())));

CREATE POLICY subject_lock ON olvido.subjects FOR UPDATE TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (external_id = olvido.current_external()))) WITH CHECK (false);

CREATE POLICY subject_read ON olvido.subjects FOR SELECT TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (external_id = olvido.current_external())));

ALTER TABLE olvido.subjects ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.summaries ENABLE ROW LEVEL SECURITY;

ALTER TABLE olvido.summary_sources ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON olvido.erasure_identifiers TO olvido_worker USING ((tenant_id = olvido.current_tenant())) WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant ON olvido.held_records TO olvido_worker USING ((tenant_id = olvido.current_tenant())) WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant ON olvido.legal_holds TO olvido_worker USING ((tenant_id = olvido.current_tenant())) WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_append ON olvido.audit_log FOR INSERT TO olvido_app, olvido_worker WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_append ON olvido.audit_seals FOR INSERT TO olvido_worker WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_append ON olvido.erasure_identifiers FOR INSERT TO olvido_app WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_append ON olvido.erasure_steps FOR INSERT TO olvido_app WITH CHECK (((tenant_id = olvido.current_tenant()) AND (settled_at IS NULL)));

CREATE POLICY tenant_append ON olvido.erasures FOR INSERT TO olvido_app, olvido_worker WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_append ON olvido.held_records FOR INSERT TO olvido_app WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_close ON olvido.tenants FOR UPDATE TO olvido_worker USING ((tenant_id = olvido.current_tenant())) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (closed_at IS NOT NULL)));

CREATE POLICY tenant_end ON olvido.subjects FOR DELETE TO olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_lock ON olvido.subjects FOR UPDATE TO olvido_worker USING ((tenant_id = olvido.current_tenant())) WITH CHECK (false);

CREATE POLICY tenant_lock ON olvido.tenants FOR UPDATE TO olvido_app USING ((tenant_id = olvido.current_tenant())) WITH CHECK (false);

CREATE POLICY tenant_open ON olvido.sealing FOR INSERT TO olvido_app WITH CHECK ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_open ON olvido.tenants FOR INSERT TO olvido_app, olvido_worker WITH CHECK (((tenant_id = olvido.current_tenant()) AND (closed_at IS NULL)));

CREATE POLICY tenant_read ON olvido.audit_log FOR SELECT TO olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_read ON olvido.audit_seals FOR SELECT TO olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_read ON olvido.erasures FOR SELECT TO olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_read ON olvido.subjects FOR SELECT TO olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_read ON olvido.tenants FOR SELECT TO olvido_app, olvido_worker USING ((tenant_id = olvido.current_tenant()));

CREATE POLICY tenant_read_back ON olvido.erasure_steps FOR UPDATE TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (level = 'E1'::text))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (level = 'E1'::text)));

CREATE POLICY tenant_rows ON olvido.erasure_steps FOR SELECT TO olvido_app USING (((tenant_id = olvido.current_tenant()) AND (level = 'E1'::text)));

CREATE POLICY tenant_seal ON olvido.audit_log FOR UPDATE TO olvido_worker USING (((tenant_id = olvido.current_tenant()) AND (seal IS NULL))) WITH CHECK (((tenant_id = olvido.current_tenant()) AND (seal IS NOT NULL)));

ALTER TABLE olvido.tenants ENABLE ROW LEVEL SECURITY;

CREATE POLICY work ON olvido.due TO olvido_worker USING (true) WITH CHECK (true);

CREATE POLICY work ON olvido.erasure_steps TO olvido_worker USING (true) WITH CHECK (true);

CREATE POLICY work ON olvido.lives TO olvido_worker USING (true) WITH CHECK (true);

CREATE POLICY work ON olvido.rewrites TO olvido_worker USING (true) WITH CHECK (true);

CREATE POLICY work ON olvido.sealing TO olvido_worker USING (true) WITH CHECK (true);

GRANT USAGE ON SCHEMA olvido TO olvido_app;
GRANT USAGE ON SCHEMA olvido TO olvido_worker;
GRANT USAGE ON SCHEMA olvido TO olvido_eraser;

REVOKE ALL ON FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamp with time zone) TO olvido_app;
GRANT ALL ON FUNCTION olvido.begin_life(tenant text, external text, minted uuid, at timestamp with time zone) TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.copy_of(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.copying(relation regclass, OUT read text, OUT write text) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.count_copy(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.create_leaves(leaves integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.current_external() FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.current_external() TO olvido_app;
GRANT ALL ON FUNCTION olvido.current_external() TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.current_subject() FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.current_subject() TO olvido_app;
GRANT ALL ON FUNCTION olvido.current_subject() TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.current_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.current_tenant() TO olvido_app;
GRANT ALL ON FUNCTION olvido.current_tenant() TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.digest(rows text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.digest(rows text[]) TO olvido_app;
GRANT ALL ON FUNCTION olvido.digest(rows text[]) TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.enter_life(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.enter_life(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) TO olvido_app;
GRANT ALL ON FUNCTION olvido.enter_life(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.enter_scope(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.enter_scope(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) TO olvido_app;
GRANT ALL ON FUNCTION olvido.enter_scope(tenant text, external text, pinned uuid, lock boolean, OUT subject_key uuid, OUT entered_at timestamp with time zone, OUT over boolean, OUT closed boolean) TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.later_rows(relation regclass, since xid, OUT rows bigint, OUT later bigint, OUT read text) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.let_rewrite(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.make_copy(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.parent_of(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.queue(scope_key text, alone boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.queue(scope_key text, alone boolean) TO olvido_app;
GRANT ALL ON FUNCTION olvido.queue(scope_key text, alone boolean) TO olvido_worker;

REVOKE ALL ON FUNCTION olvido.rewrite(relation regclass, OUT before oid, OUT after oid, OUT ended xid8, OUT begun_at timestamp with time zone, OUT waited interval, OUT took interval) FROM PUBLIC;
GRANT ALL ON FUNCTION olvido.rewrite(relation regclass, OUT before oid, OUT after oid, OUT ended xid8, OUT begun_at timestamp with time zone, OUT waited interval, OUT took interval) TO olvido_eraser;

REVOKE ALL ON FUNCTION olvido.shut(relation regclass, OUT begun_at timestamp with time zone, OUT waited interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.silence(relation regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.swap(relation regclass, OUT before oid, OUT after oid) FROM PUBLIC;

REVOKE ALL ON FUNCTION olvido.wall(relation regclass) FROM PUBLIC;

GRANT INSERT ON TABLE olvido.audit_log TO olvido_app;
GRANT SELECT,INSERT ON TABLE olvido.audit_log TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.audit_log TO olvido_eraser;

GRANT UPDATE(seal) ON TABLE olvido.audit_log TO olvido_worker;

GRANT SELECT,INSERT ON TABLE olvido.audit_seals TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.audit_seals TO olvido_eraser;

GRANT SELECT,INSERT,UPDATE ON TABLE olvido.copies TO olvido_app;
GRANT SELECT,INSERT,UPDATE ON TABLE olvido.copies TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.copies TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.due TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.due TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.due TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.episodes TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.episodes TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.episodes TO olvido_eraser;

GRANT INSERT ON TABLE olvido.erasure_identifiers TO olvido_app;
GRANT SELECT,INSERT,DELETE ON TABLE olvido.erasure_identifiers TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.erasure_identifiers TO olvido_eraser;

GRANT SELECT,INSERT ON TABLE olvido.erasure_steps TO olvido_app;
GRANT SELECT,INSERT,UPDATE ON TABLE olvido.erasure_steps TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.erasure_steps TO olvido_eraser;

GRANT UPDATE(status) ON TABLE olvido.erasure_steps TO olvido_app;

GRANT UPDATE(attempts) ON TABLE olvido.erasure_steps TO olvido_app;

GRANT UPDATE(evidence) ON TABLE olvido.erasure_steps TO olvido_app;

GRANT UPDATE(settled_at) ON TABLE olvido.erasure_steps TO olvido_app;

GRANT INSERT ON TABLE olvido.erasures TO olvido_app;
GRANT SELECT,INSERT ON TABLE olvido.erasures TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.erasures TO olvido_eraser;

GRANT INSERT ON TABLE olvido.held_records TO olvido_app;
GRANT SELECT,INSERT,DELETE ON TABLE olvido.held_records TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.held_records TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.index_entries TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.index_entries TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.index_entries TO olvido_eraser;

GRANT SELECT,INSERT ON TABLE olvido.ledger_entries TO olvido_app;
GRANT SELECT,INSERT ON TABLE olvido.ledger_entries TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.ledger_entries TO olvido_eraser;

GRANT SELECT ON TABLE olvido.legal_holds TO olvido_app;
GRANT SELECT,INSERT,DELETE ON TABLE olvido.legal_holds TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.legal_holds TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.lives TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.lives TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.lives TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.messages TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.messages TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.messages TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.preference_versions TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.preference_versions TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.preference_versions TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.preferences TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.preferences TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.preferences TO olvido_eraser;

GRANT SELECT,INSERT,UPDATE ON TABLE olvido.rewrites TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.rewrites TO olvido_eraser;

GRANT SELECT ON TABLE olvido.schema_version TO olvido_app;
GRANT SELECT ON TABLE olvido.schema_version TO olvido_worker;
GRANT SELECT ON TABLE olvido.schema_version TO olvido_eraser;

GRANT INSERT ON TABLE olvido.sealing TO olvido_app;
GRANT SELECT,INSERT,UPDATE ON TABLE olvido.sealing TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.sealing TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.session_facts TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.session_facts TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.session_facts TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.session_items TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.session_items TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.session_items TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.sessions TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.sessions TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.sessions TO olvido_eraser;

GRANT SELECT,INSERT,DELETE ON TABLE olvido.subjects TO olvido_app;
GRANT SELECT,DELETE ON TABLE olvido.subjects TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.subjects TO olvido_eraser;

GRANT UPDATE(created_at) ON TABLE olvido.subjects TO olvido_app;
GRANT UPDATE(created_at) ON TABLE olvido.subjects TO olvido_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.summaries TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.summaries TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.summaries TO olvido_eraser;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.summary_sources TO olvido_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE olvido.summary_sources TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.summary_sources TO olvido_eraser;

GRANT SELECT,INSERT ON TABLE olvido.tenants TO olvido_app;
GRANT SELECT,INSERT ON TABLE olvido.tenants TO olvido_worker;
GRANT MAINTAIN ON TABLE olvido.tenants TO olvido_eraser;

GRANT UPDATE(closed_at) ON TABLE olvido.tenants TO olvido_app;
GRANT UPDATE(closed_at) ON TABLE olvido.tenants TO olvido_worker;
