-- Users are found by an address that is not their id.

-- As it is compared; null: none, or the id is it.
ALTER TABLE users ADD COLUMN email TEXT;
CREATE INDEX users_by_email ON users (email) WHERE email IS NOT NULL;

-- The program folds again whoever may have one.
UPDATE users SET search = NULL
WHERE json_type(data, '$.email') = 'text' AND lower(trim(json_extract(data, '$.email'))) <> id;
DELETE FROM user_search WHERE rowid IN (SELECT number FROM users WHERE search IS NULL);
