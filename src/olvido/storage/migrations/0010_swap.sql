-- Where the lock of olvido.rewrite would be too long, an administrator swaps a leaf for a copy of it, which is filled while
-- everyone reads and writes on. All of it is one transaction, so that nobody ever sees the copy beside the leaf, and a
-- forget that comes meanwhile finds no second place. The copy is filled with frozen rows: whoever has an older snapshot
-- would find it empty otherwise. Therefore nothing is ever removed from it: an older snapshot would see that again. With
-- the rights of whoever calls: to see all rows, that is a login past row security.

CREATE FUNCTION olvido.copy_of(relation regclass) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog
RETURN (SELECT format('olvido.%I', c.relname || '_copy') FROM pg_catalog.pg_class c WHERE c.oid = relation);

CREATE FUNCTION olvido.parent_of(relation regclass) RETURNS regclass LANGUAGE sql STABLE SET search_path = pg_catalog
RETURN (SELECT i.inhparent::regclass FROM pg_catalog.pg_inherits i WHERE i.inhrelid = relation);

-- Make the empty copy of a leaf where the leaf is, with its indexes and checks. Its foreign keys come at the end: they would keep everybody
-- from the relations that they refer to for as long as this transaction lasts.
CREATE FUNCTION olvido.make_copy(relation regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM set_config('default_tablespace', coalesce((SELECT t.spcname FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = relation), ''), true);
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)', olvido.copy_of(relation), relation);
    PERFORM olvido.silence(olvido.copy_of(relation)::regclass);
END $$;

-- The statements that read the rows of a leaf and write them into the copy: in the order of the key, so that a person's
-- rows lie together.
CREATE FUNCTION olvido.copying(relation regclass, OUT read text, OUT write text)
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT format('COPY (SELECT * FROM %s ORDER BY %s) TO STDOUT (FORMAT binary)', relation, k.columns),
           format('COPY %s FROM STDIN (FORMAT binary, FREEZE)', olvido.copy_of(relation))
      FROM (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY o.position) AS columns
              FROM pg_catalog.pg_index i
             CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS o (attnum, position)
              JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = o.attnum
             WHERE i.indrelid = relation AND i.indisprimary) AS k
$$;

-- Count the copy, so that what is done with everyone kept out is done by its keys.
CREATE FUNCTION olvido.count_copy(relation regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    EXECUTE format('ANALYZE %s', olvido.copy_of(relation));
END $$;

-- Keep everyone out. Every transaction looks its person up first, so that nobody is left behind who holds the leaf and
-- waits for what is locked here already. waited: how long that took.
CREATE FUNCTION olvido.shut(relation regclass, OUT begun_at timestamptz, OUT waited interval)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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

-- What came into the leaf since a transaction, in one look; what counts is the one with everyone kept out. rows: how many
-- the leaf has. later: how many of them came or changed. read: the statement that reads those. The rows of before are those
-- that were copied, unless one of them was changed or removed, so that there are fewer of them.
CREATE FUNCTION olvido.later_rows(relation regclass, since xid, OUT rows bigint, OUT later bigint, OUT read text)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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
END $$;

-- Put the copy in the place of the leaf, under its name and behind its wall. Everyone is kept out. before, after: the
-- numbers of the two files.
CREATE FUNCTION olvido.swap(relation regclass, OUT before oid, OUT after oid)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
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
