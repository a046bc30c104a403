import init from './0001_init.sql' with { type: 'text' }
import users from './0002_users.sql' with { type: 'text' }
import codes from './0003_codes.sql' with { type: 'text' }
import providers from './0004_providers.sql' with { type: 'text' }
import mailSettings from './0005_mail_settings.sql' with { type: 'text' }
import blobs from './0006_blobs.sql' with { type: 'text' }
import inactiveUsers from './0007_inactive_users.sql' with { type: 'text' }
import invitations from './0008_invitations.sql' with { type: 'text' }
import mailRecipients from './0009_mail_recipients.sql' with { type: 'text' }
import latestTime from './0010_latest_time.sql' with { type: 'text' }
import userEmails from './0011_user_emails.sql' with { type: 'text' }
import inviters from './0012_inviters.sql' with { type: 'text' }

export interface Migration {
  readonly name: string
  readonly sql: string
}

/** In the order they run. Forward only: a line that was released is never edited. */
export const migrations: readonly Migration[] = [
  { name: '0001_init', sql: init },
  { name: '0002_users', sql: users },
  { name: '0003_codes', sql: codes },
  { name: '0004_providers', sql: providers },
  { name: '0005_mail_settings', sql: mailSettings },
  { name: '0006_blobs', sql: blobs },
  { name: '0007_inactive_users', sql: inactiveUsers },
  { name: '0008_invitations', sql: invitations },
  { name: '0009_mail_recipients', sql: mailRecipients },
  { name: '0010_latest_time', sql: latestTime },
  { name: '0011_user_emails', sql: userEmails },
  { name: '0012_inviters', sql: inviters },
]
