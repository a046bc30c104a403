import { useEffect, useRef, useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { ProgressBar } from '../parts/progress-bar'
import { call, type Progress } from '../server/call'
import { download } from '../server/download'

/** A backup, as `backup.list` has it. `problem` says why it cannot be read. */
export interface KeptBackup {
  readonly backup: string
  readonly created: string | null
  readonly bytes: number | null
  readonly databases: readonly string[]
  readonly problem: string | null
}

/** Restores a database of a backup as another one, which ends with the dialog, or saves it as a file. */
export function BackupDialog({
  kept: { backup, databases },
  isRestoring,
  onClose,
  onRestored,
}: {
  kept: KeptBackup
  isRestoring: boolean
  onClose: () => void
  onRestored: (name: string) => void
}) {
  const [chosen, setChosen] = useState(databases[0] ?? '')
  const [name, setName] = useState('')
  const [endsLogins, setEndsLogins] = useState(false)
  const [progress, setProgress] = useState<Progress | null>(null)
  const ended = useRef(new AbortController())
  useEffect(() => () => ended.current.abort(), [])
  const input = { backup, database: chosen }
  const save = async () => {
    await download('backup.read', input, `${chosen}-${backup}.satchel-backup`)
    onClose()
  }
  const restore = async () => {
    const given = { ...input, name: name.trim(), revokeLogins: endsLogins }
    try {
      const { signal } = ended.current
      await call('backup.restore-kept', given, { signal, onProgress: setProgress })
    } finally {
      setProgress(null)
    }
    onRestored(name.trim())
  }
  return (
    <FormDialog
      title={isRestoring ? 'Restore as another database' : 'Save a database of the backup'}
      action={isRestoring ? 'Restore' : 'Save as a file'}
      onSubmit={isRestoring ? restore : save}
      onClose={onClose}
    >
      <label>
        <span>Database of {backup}</span>
        <select value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
          {databases.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      {isRestoring && (
        <>
          <label>
            <span>Its new name</span>
            <input
              autofocus
              required
              value={name}
              spellcheck={false}
              autocomplete="off"
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={endsLogins}
              onChange={() => setEndsLogins(!endsLogins)}
            />
            <span>End all logins in it: everybody logs in again</span>
          </label>
          {progress !== null && <ProgressBar progress={progress} label="Restoring" />}
        </>
      )}
      {!isRestoring && <p class="soft small">It has the keys of the database: keep it secret.</p>}
    </FormDialog>
  )
}
