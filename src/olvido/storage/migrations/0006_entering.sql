-- Entering a scope plans its own queries once a connection, not once a transaction: the wish for custom plans, which
-- holds from then on, is set last. These queries read relations without partitions, so their generic plans lock
-- no leaf.

CREATE OR REPLACE FUNCTION olvido.enter_scope(
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

CREATE OR REPLACE FUNCTION olvido.enter_life(
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
