-- Few users are deactivated, and lists of them are asked for.

CREATE INDEX users_inactive ON users (deactivated) WHERE deactivated IS NOT NULL;
