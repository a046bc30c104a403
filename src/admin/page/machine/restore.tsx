import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { ProgressBar } from '../parts/progress-bar'
import { useTask } from '../server/task'
import { hrefIn } from '../shell/route'

/** Makes a new database of a backup. */
export function Restore({ onDone }: { onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null)
  const [name, setName] = useState('')
  const task = useTask<{ name: string }>()
  const restore = async () => {
    if (file === null) return
    const input = { name: name.trim(), revokeLogins: false, size: file.size }
    await task.run('backup.restore', input, { upload: file })
    onDone()
  }
  return (
    <section class="part">
      <h2>Restore a file as another database</h2>
      <form
        class="pair"
        onSubmit={(event) => {
          event.preventDefault()
          void restore()
        }}
      >
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
      </form>
      {task.isBusy && <ProgressBar progress={task.progress} label="Restoring" />}
      <Failure error={task.error} />
      {task.result !== undefined && (
        <p class="good-text">
          The database <a href={hrefIn(task.result.name, 'data')}>{task.result.name}</a> is there.
        </p>
      )}
    </section>
  )
}
