-- The roles and the database of Tallystick. Run it once, on the leader: psql -f roles.sql
-- Then set both passwords with \password, which does not show them.

CREATE ROLE tallystick_owner LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION;
CREATE ROLE tallystick LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION;

-- tallystick_owner makes the schemas of ledgers. tallystick is the role of the servers: it gets its rights for each
-- ledger from `tallystick ledger create`. Give it no other right, above all not pg_signal_backend: anyone who can cancel
-- another session can end its wait for a standby.
CREATE DATABASE tallystick OWNER tallystick_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE tallystick FROM PUBLIC;
GRANT CONNECT ON DATABASE tallystick TO tallystick;
