/** The views of the page Server, each with an operation without which it shows nothing. */
export const SERVER_VIEWS = [
  ['state', 'State', 'status'],
  ['databases', 'Databases', 'db.list'],
  ['backups', 'Backups', 'backup.list'],
  ['settings', 'Settings', 'server.show'],
  ['log', 'Log', 'log.follow'],
  ['audit', 'Audit', 'audit.list'],
  ['logins', 'Logins', 'session.list'],
] as const
