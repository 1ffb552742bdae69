-- Words of a text, by its language: stem, stem of the unaccented word, and the plain unaccented word.
-- The stem comes first because unaccenting before the Portuguese stemmer would part informação from informações.

CREATE TEXT SEARCH DICTIONARY olvido.words (TEMPLATE = pg_catalog.simple);
CREATE TEXT SEARCH DICTIONARY olvido.words_en (TEMPLATE = pg_catalog.simple, STOPWORDS = english);
CREATE TEXT SEARCH DICTIONARY olvido.words_es (TEMPLATE = pg_catalog.simple, STOPWORDS = spanish);
CREATE TEXT SEARCH DICTIONARY olvido.words_pt (TEMPLATE = pg_catalog.simple, STOPWORDS = portuguese);

CREATE TEXT SEARCH CONFIGURATION olvido.plain (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION olvido.plain
    ALTER MAPPING FOR hword, hword_part, word WITH unaccent, olvido.words;
CREATE TEXT SEARCH CONFIGURATION olvido.folded_es (COPY = pg_catalog.spanish);
ALTER TEXT SEARCH CONFIGURATION olvido.folded_es
    ALTER MAPPING FOR hword, hword_part, word WITH unaccent, spanish_stem;
CREATE TEXT SEARCH CONFIGURATION olvido.folded_pt (COPY = pg_catalog.portuguese);
ALTER TEXT SEARCH CONFIGURATION olvido.folded_pt
    ALTER MAPPING FOR hword, hword_part, word WITH unaccent, portuguese_stem;
CREATE TEXT SEARCH CONFIGURATION olvido.plain_en (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION olvido.plain_en
    ALTER MAPPING FOR asciihword, asciiword, hword, hword_asciipart, hword_part, word WITH unaccent, olvido.words_en;
CREATE TEXT SEARCH CONFIGURATION olvido.plain_es (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION olvido.plain_es
    ALTER MAPPING FOR asciihword, asciiword, hword, hword_asciipart, hword_part, word WITH unaccent, olvido.words_es;
CREATE TEXT SEARCH CONFIGURATION olvido.plain_pt (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION olvido.plain_pt
    ALTER MAPPING FOR asciihword, asciiword, hword, hword_asciipart, hword_part, word WITH unaccent, olvido.words_pt;

CREATE FUNCTION olvido.lex(language text, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE language
        WHEN 'en' THEN to_tsvector('pg_catalog.english'::regconfig, content)
                    || to_tsvector('olvido.plain_en'::regconfig, content)
        WHEN 'es' THEN to_tsvector('pg_catalog.spanish'::regconfig, content)
                    || to_tsvector('olvido.folded_es'::regconfig, content)
                    || to_tsvector('olvido.plain_es'::regconfig, content)
        WHEN 'pt' THEN to_tsvector('pg_catalog.portuguese'::regconfig, content)
                    || to_tsvector('olvido.folded_pt'::regconfig, content)
                    || to_tsvector('olvido.plain_pt'::regconfig, content)
        ELSE to_tsvector('olvido.plain'::regconfig, content)
    END
$$;

-- Length of a document in term occurrences, the |d| of BM25.
CREATE FUNCTION olvido.term_count(terms tsvector) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(cardinality(t.positions)), 0)::integer FROM unnest(terms) AS t
$$;

GRANT EXECUTE ON FUNCTION olvido.lex, olvido.term_count TO olvido_app, olvido_worker;
