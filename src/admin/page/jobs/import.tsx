import { useRef, useState } from 'preact/hooks'
import { Icon } from '../parts/icon'
import { TaskView } from '../parts/task-view'
import { Text } from '../parts/text'
import { useTask } from '../server/task'
import { database } from '../shell/route'

interface Imported {
  readonly objects?: number
  readonly tables?: number
  readonly users?: number
}

/** Imports a file that is dropped or chosen: first a check, then the import. */
export function Import({ onDone }: { onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null)
  const [isOver, setIsOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const check = useTask<Imported>()
  const work = useTask<Imported>()
  const orderFor = (chosen: File, dryRun: boolean) => {
    return { database: database.value, dryRun, size: chosen.size, name: chosen.name }
  }
  const choose = (chosen: File | undefined) => {
    if (chosen === undefined || work.isBusy) return
    setFile(chosen)
    work.clear()
    void check.run('import', orderFor(chosen, true), { upload: chosen })
  }
  const start = async () => {
    if (file === null) return
    check.clear()
    await work.run('import', orderFor(file, false), { upload: file })
    onDone()
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    choose(event.dataTransfer?.files[0])
  }
  return (
    <section class="part">
      <h2>Import</h2>
      <button
        class={`drop ${isOver ? 'over' : ''}`}
        disabled={work.isBusy}
        onClick={() => input.current?.click()}
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(true)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <Icon name="upload" />
        <span>{file === null ? 'Drop a file here, or choose one' : <Text text={file.name} />}</span>
        <span class="soft small">JSON, lines of JSON or a zip archive of an export</span>
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json,.ndjson,.zip"
        onChange={({ currentTarget }) => {
          choose(currentTarget.files?.[0])
          // The same file, mended, may be chosen again.
          currentTarget.value = ''
        }}
      />
      <TaskView task={check} label="Checking the file">
        {(found) => (
          <>
            <p>The file is right. It has {summaryOf(found)}.</p>
            <div class="actions">
              <button class="main" onClick={() => void start()}>
                Import it
              </button>
            </div>
          </>
        )}
      </TaskView>
      <TaskView task={work} label="Importing" mayStop={false}>
        {(done) => <p class="good-text">Imported: {summaryOf(done)}.</p>}
      </TaskView>
    </section>
  )
}

/** The counts of the answer, as `12 objects, 2 tables`. */
function summaryOf(result: Imported): string {
  const counts = Object.entries(result).flatMap(([name, count]) =>
    typeof count === 'number' && count > 0
      ? [`${count.toLocaleString()} ${count === 1 ? name.replace(/s$/, '') : name}`]
      : [],
  )
  return counts.length === 0 ? 'nothing' : counts.join(', ')
}
