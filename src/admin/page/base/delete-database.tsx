import { isReadOnly, may } from '../server/session'
import { call } from '../server/call'
import { askToDestroy } from '../shell/destroy'
import { reloadDatabases } from '../shell/databases'
import { database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'

/** Marks the database for deletion, which can be taken back for 30 days. */
export function DeleteDatabase() {
  if (isReadOnly.value) return null
  const name = database.value
  const undelete = async () => {
    const { wasDeleted } = await call<{ wasDeleted: boolean }>('db.undelete', { database: name })
    tellDone(wasDeleted ? 'The database stays' : 'The database was not deleted')
  }
  return (
    <section class="part box">
      <h2>Deletion</h2>
      <p class="soft small">
        A database that is marked is served with a warning for 30 days; then everything is removed.
      </p>
      <div class="actions">
        <button
          class="danger"
          onClick={() =>
            askToDestroy({
              title: 'Mark the database for deletion',
              done: 'The database is marked for deletion',
              fate: 'is removed in 30 days, unless the deletion is taken back.',
              name,
              operation: 'db.delete',
              input: { database: name, hard: false },
              onDone: () => void reloadDatabases(),
            })
          }
        >
          Delete the database
        </button>
        {may('db.undelete') && (
          <button onClick={() => void undelete().catch(tellError)}>Take a deletion back</button>
        )}
      </div>
    </section>
  )
}
