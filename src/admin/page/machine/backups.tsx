import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { Snippet } from '../parts/snippet'
import { TaskView } from '../parts/task-view'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { useTask } from '../server/task'
import { reloadDatabases } from '../shell/databases'
import { chooseDatabase, hrefOf } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { sizeText } from '../value/typed'
import { BackupDialog, type KeptBackup } from './backup-dialog'
import { Restore } from './restore'

interface Kept {
  /** Null where the server has no place for backups. */
  readonly target: string | null
  readonly backups: readonly KeptBackup[]
}

interface Verified {
  readonly files: number
  readonly bytes: number
  readonly faults: readonly { readonly path: string; readonly problem: string }[]
}

/** The backups in the place of the server: made, verified, saved as files, and restored beside the others. */
export function Backups() {
  const { value, error, reload } = useOperation<Kept>('backup.list', {})
  const isWriting = !isReadOnly.value
  return (
    <div class="body narrow">
      <Failure error={error} onAgain={reload} />
      {value !== undefined && value.target === null && (
        <Empty icon="database" title="The server has no place for backups">
          <p>
            Started with <code>--backup</code>, it makes one every night, and keeps them in a folder
            or a bucket.{' '}
            <a href="docs/backup" target="_blank" rel="noopener">
              Back up and restore
            </a>
          </p>
          {may('backup') && isWriting && (
            <p>
              <a href={hrefOf('server', 'databases')}>Databases</a> saves one database as a file at
              once.
            </p>
          )}
          <Snippet label="Every night" text="satchel serve --backup /mnt/backups" />
          <Snippet label="Once, from a terminal" text="satchel backup /mnt/backups" />
        </Empty>
      )}
      {value !== undefined && value.target !== null && (
        <section class="part">
          <Head target={value.target} onMade={reload} />
          <ul class="rows">
            {value.backups.map((kept) => (
              <BackupRow key={kept.backup} kept={kept} />
            ))}
            {value.backups.length === 0 && <li class="soft">None yet.</li>}
          </ul>
        </section>
      )}
      {value !== undefined && may('backup.restore') && isWriting && (
        <Restore onDone={() => void reloadDatabases()} />
      )}
    </div>
  )
}

function Head({ target, onMade }: { target: string; onMade: () => void }) {
  const task = useTask<{ readonly backup: string }>()
  const make = async () => {
    await task.run('backup.make', {})
    onMade()
  }
  return (
    <>
      <header>
        <h2>Backups</h2>
        {may('backup.make') && !isReadOnly.value && (
          <button class="small-button" disabled={task.isBusy} onClick={() => void make()}>
            <Icon name="plus" />
            Make one
          </button>
        )}
      </header>
      <p class="soft small">
        In <code>{target}</code>, each with all databases and their keys: as secret as the data.
      </p>
      <TaskView task={task} label="Backing up" />
    </>
  )
}

function BackupRow({ kept }: { kept: KeptBackup }) {
  const { backup, created, bytes, databases, problem } = kept
  const [open, setOpen] = useState<'restore' | 'save' | null>(null)
  const task = useTask<Verified>()
  const isWriting = !isReadOnly.value
  return (
    <li class="backup">
      <span class="list-main">
        <span>{created === null ? backup : <Ago at={created} />}</span>
        <span class="soft small clip">
          {problem ?? `${sizeText(bytes ?? 0)} · ${databases.join(', ')} · ${backup}`}
        </span>
      </span>
      {problem !== null && <span class="badge bad">cannot be read</span>}
      {task.result?.faults.length === 0 && <span class="badge good">as written</span>}
      {problem === null && (
        <>
          <button
            class="small-button"
            aria-label={`Verify ${backup}`}
            disabled={task.isBusy}
            onClick={() => void task.run('backup.verify', { backup })}
          >
            Verify
          </button>
          {may('backup.restore-kept') && isWriting && (
            <button
              class="small-button"
              aria-label={`Restore ${backup}`}
              onClick={() => setOpen('restore')}
            >
              Restore
            </button>
          )}
          {may('backup.read') && isWriting && (
            <button
              class="plain"
              title="Save as a file"
              aria-label={`Save ${backup} as a file`}
              onClick={() => setOpen('save')}
            >
              <Icon name="download" />
            </button>
          )}
        </>
      )}
      <TaskView task={task} label="Verifying">
        {({ faults }) =>
          faults.length > 0 && (
            <p class="bad-text small">
              Not as it was written: {faults.map(({ path }) => path).join(', ')}
            </p>
          )
        }
      </TaskView>
      {open !== null && (
        <BackupDialog
          kept={kept}
          isRestoring={open === 'restore'}
          onClose={() => setOpen(null)}
          onRestored={(name) => {
            setOpen(null)
            tellDone(`The database ${name} is there`, {
              label: 'Open it',
              run: () => chooseDatabase(name, 'data'),
            })
            void reloadDatabases()
          }}
        />
      )}
    </li>
  )
}
