-- The passwords of the roles that log in. Runs in single-user mode; the names in braces are filled in by cluster.py,
-- which checks that a password is made of letters, digits, "-" and "_".

ALTER ROLE postgres PASSWORD '${postgres}';

ALTER ROLE olvido_app PASSWORD '${olvido_app}';

ALTER ROLE olvido_worker PASSWORD '${olvido_worker}';

-- A directory of an earlier release has this role without a login.
ALTER ROLE olvido_eraser LOGIN PASSWORD '${olvido_eraser}';

GRANT CONNECT ON DATABASE olvido TO olvido_eraser;

