import { signal } from '@preact/signals'
import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { useTask } from '../server/task'
import { reloadDatabases } from '../shell/databases'
import { askToDestroy } from '../shell/destroy'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

/** The snapshots that were taken on this page: the server does not list them. */
const taken = signal<readonly { id: string; database: string; at: number }[]>([])

/** Takes snapshots of the database, and returns to them. */
export function Snapshots() {
  const input = { database: database.value }
  const take = useTask<{ id: string }>()
  const work = useTask<{ name?: string }>()
  const own = taken.value.filter((each) => each.database === database.value)
  const snapshot = async () => {
    await take.run('test.snapshot', input)
  }
  if (take.result !== undefined && !taken.value.some(({ id }) => id === take.result?.id)) {
    const { id } = take.result
    taken.value = [{ id, database: database.value, at: Date.now() }, ...taken.value]
  }
  const restore = async (id: string) => {
    await work.run('test.restore', { ...input, id, confirm: id })
    tellDone('The database is as it was')
  }
  const fork = async (id: string) => {
    await work.run('test.fork', { ...input, id })
    await reloadDatabases()
    tellDone('The new database is in the list')
  }
  return (
    <section class="part box">
      <header>
        <h2>Snapshots</h2>
        <button class="small-button" disabled={take.isBusy} onClick={() => void snapshot()}>
          Take one
        </button>
      </header>
      <ul class="rows">
        {own.map(({ id, at }) => (
          <li key={id}>
            <span class="list-main">
              <span class="mono clip">{id}</span>
              <span class="soft small">
                <Ago at={at} />
              </span>
            </span>
            <button class="small-button" onClick={() => void restore(id)}>
              Return to it
            </button>
            <button class="small-button" onClick={() => void fork(id)}>
              Make a database
            </button>
          </li>
        ))}
        {own.length === 0 && <li class="soft">None of this page yet.</li>}
      </ul>
      <Failure error={take.error ?? work.error} />
      <div class="actions">
        <button
          class="danger"
          onClick={() =>
            askToDestroy({
              title: 'Return to the beginning',
              text: 'Objects, users and mails are removed; the seed is applied again.',
              name: database.value,
              operation: 'test.reset',
              input,
              isTyped: false,
            })
          }
        >
          Return to the beginning
        </button>
      </div>
    </section>
  )
}
