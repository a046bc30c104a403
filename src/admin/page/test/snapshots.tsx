import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { useTask } from '../server/task'
import { reloadDatabases } from '../shell/databases'
import { askToDestroy } from '../shell/destroy'
import { chooseDatabase, database } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'

interface Taken {
  readonly id: string
  /** ISO text. */
  readonly created: string
}

/** Takes snapshots of the database, and returns to them. */
export function Snapshots() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<{ readonly snapshots: readonly Taken[] }>(
    'test.snapshots',
    input,
  )
  const take = useTask<Taken>()
  const restore = async (id: string) => {
    await call('test.restore', { ...input, id, confirm: id })
    tellDone('The database is as it was')
  }
  const fork = async (id: string) => {
    const { name } = await call<{ name: string }>('test.fork', { ...input, id })
    await reloadDatabases()
    const goThere = { label: 'Go to it', run: () => chooseDatabase(name) }
    tellDone(`The database ${name} was made`, goThere)
  }
  return (
    <section class="part box">
      <header>
        <h2>Snapshots</h2>
        <button
          class="small-button"
          disabled={take.isBusy}
          onClick={() => void take.run('test.snapshot', input).then(reload)}
        >
          Take one
        </button>
      </header>
      <ul class="rows">
        {value?.snapshots.map(({ id, created }) => (
          <li key={id}>
            <span class="list-main">
              <span class="mono clip">{id}</span>
              <span class="soft small">
                <Ago at={Date.parse(created)} />
              </span>
            </span>
            <button class="small-button" onClick={() => void restore(id).catch(tellError)}>
              Return to it
            </button>
            <button class="small-button" onClick={() => void fork(id).catch(tellError)}>
              Make a database
            </button>
          </li>
        ))}
        {value?.snapshots.length === 0 && <li class="soft">None yet.</li>}
      </ul>
      <Failure error={error ?? take.error} />
      <div class="actions">
        <button
          class="danger"
          onClick={() =>
            askToDestroy({
              title: 'Return to the beginning',
              done: 'The database is as at its start',
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
