-- How a database writes and sends its mails are settings like others.

INSERT INTO settings (id, value)
SELECT 'mail', json_object('sender', sender, 'sealedAddress', sealed_address) FROM mail_settings;

INSERT INTO settings (id, value)
SELECT 'mail templates', json_group_object(id, content) FROM mail_templates HAVING count(*) > 0;

DROP TABLE mail_settings;
DROP TABLE mail_templates;
