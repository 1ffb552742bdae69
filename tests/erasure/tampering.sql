-- name: rows_of_two_seals_exchanged
-- One row of the first seal goes under the second, and one of the second under the first.
UPDATE olvido.audit_log SET seal = 3 - seal WHERE audit_id IN (
    SELECT DISTINCT ON (seal) audit_id FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal IN (1, 2));

-- name: order_within_a_seal_reversed
-- What was done last in the second seal is said to have been done first, and so on.
WITH numbered AS (
    SELECT audit_id, action, kind, record_id, counts, row_number() OVER (ORDER BY audit_id) AS first,
           row_number() OVER (ORDER BY audit_id DESC) AS last
      FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 2
)
UPDATE olvido.audit_log l SET action = o.action, kind = o.kind, record_id = o.record_id, counts = o.counts
  FROM numbered n JOIN numbered o ON o.last = n.first WHERE l.audit_id = n.audit_id;

-- name: row_removed
-- One row of the second seal is gone.
DELETE FROM olvido.audit_log WHERE audit_id = (
    SELECT audit_id FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 2 LIMIT 1);

-- name: row_taken_out_of_its_seal
-- One row of the second seal looks as if it had never been sealed.
UPDATE olvido.audit_log SET seal = NULL WHERE audit_id = (
    SELECT audit_id FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 2 LIMIT 1);

-- name: row_added
-- A row that nobody wrote stands under the second seal.
INSERT INTO olvido.audit_log (tenant_id, audit_id, action, kind, counts, policy_version, at, seal)
VALUES ('acme', gen_random_uuid(), 'written', 'note', '{}', 'p', now(), 2);

-- name: rows_moved_to_another_company
-- The rows of the second seal are said to be of somebody else.
UPDATE olvido.audit_log SET tenant_id = 'nobody' WHERE tenant_id = 'acme' AND seal = 2;

-- name: seal_and_its_rows_removed
-- The second seal was never there.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 2;
DELETE FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 2;

-- name: seal_removed
-- The second seal is gone, and its rows are still there.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 2;

-- name: seal_removed_and_the_gap_closed
-- The second seal was never there, and the third has taken its number.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 2;
DELETE FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 2;
UPDATE olvido.audit_seals SET seal = 2 WHERE tenant_id = 'acme' AND seal = 3;
UPDATE olvido.audit_log SET seal = 2 WHERE tenant_id = 'acme' AND seal = 3;

-- name: seals_exchanged
-- The second seal is said to be the third, and the third the second.
UPDATE olvido.audit_seals SET seal = 9 WHERE tenant_id = 'acme' AND seal = 2;
UPDATE olvido.audit_seals SET seal = 2 WHERE tenant_id = 'acme' AND seal = 3;
UPDATE olvido.audit_seals SET seal = 3 WHERE tenant_id = 'acme' AND seal = 9;

-- name: instant_of_a_seal_changed
-- The second seal is said to be older than it is.
UPDATE olvido.audit_seals SET sealed_at = sealed_at - interval '1 day' WHERE tenant_id = 'acme' AND seal = 2;

-- name: instant_of_a_seal_without_end
-- The second seal is said to be of an instant that no calendar has.
UPDATE olvido.audit_seals SET sealed_at = 'infinity' WHERE tenant_id = 'acme' AND seal = 2;

-- name: rows_of_a_seal_counted_otherwise
-- The second seal is said to be over one row more.
UPDATE olvido.audit_seals SET rows = rows + 1 WHERE tenant_id = 'acme' AND seal = 2;

-- name: digest_of_a_seal_changed
-- The second seal has another digest.
UPDATE olvido.audit_seals SET digest = repeat('0', 64) WHERE tenant_id = 'acme' AND seal = 2;

-- name: newest_seal_and_its_rows_removed
-- The chain ends at the second seal.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 3;
DELETE FROM olvido.audit_log WHERE tenant_id = 'acme' AND seal = 3;

-- name: newest_seal_removed
-- The third seal is gone, and its rows are still there.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 3;

-- name: newest_seal_undone
-- The third seal is gone, and its rows look as if they had never been sealed.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme' AND seal = 3;
UPDATE olvido.audit_log SET seal = NULL WHERE tenant_id = 'acme' AND seal = 3;

-- name: everything_removed
-- Nothing says that anything was ever written down for this company.
DELETE FROM olvido.audit_seals WHERE tenant_id = 'acme';
DELETE FROM olvido.audit_log WHERE tenant_id = 'acme';
DELETE FROM olvido.sealing WHERE tenant_id = 'acme';
