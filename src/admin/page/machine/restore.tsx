import { useState } from 'preact/hooks'
import { TaskView } from '../parts/task-view'
import { useTask } from '../server/task'
import { hrefIn } from '../shell/route'

/** Makes a new database of a backup. */
export function Restore({ onDone }: { onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null)
  const [name, setName] = useState('')
  const [endsLogins, setEndsLogins] = useState(false)
  const task = useTask<{ name: string }>()
  const restore = async () => {
    if (file === null) return
    const input = { name: name.trim(), revokeLogins: endsLogins, size: file.size }
    await task.run('backup.restore', input, { upload: file })
    onDone()
  }
  return (
    <section class="part">
      <h2>Restore a file as another database</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void restore()
        }}
      >
        <div class="pair">
          <input
            required
            type="file"
            aria-label="Backup of one database"
            onChange={({ currentTarget }) => setFile(currentTarget.files?.[0] ?? null)}
          />
          <div class="joined">
            <input
              required
              aria-label="Name of the new database"
              placeholder="Its new name"
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <button disabled={task.isBusy}>Restore</button>
          </div>
        </div>
        <label class="check">
          <input type="checkbox" checked={endsLogins} onChange={() => setEndsLogins(!endsLogins)} />
          <span>End all logins in it: everybody logs in again</span>
        </label>
      </form>
      <TaskView task={task} label="Restoring">
        {({ name: made }) => (
          <p class="good-text">
            The database <a href={hrefIn(made, 'data')}>{made}</a> is there.
          </p>
        )}
      </TaskView>
    </section>
  )
}
