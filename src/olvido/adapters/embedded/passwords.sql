-- The passwords of the roles that log in. Runs in single-user mode; the names in braces are filled in by cluster.py,
-- which checks that a password is made of letters, digits, "-" and "_".

ALTER ROLE postgres PASSWORD '${postgres}';

ALTER ROLE olvido_app PASSWORD '${olvido_app}';

ALTER ROLE olvido_worker PASSWORD '${olvido_worker}';

