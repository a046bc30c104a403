import { useRef, useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { inSlices } from '../parts/slices'
import { saveFile } from '../parts/save-file'
import { sizeText } from '../value/typed'
import { faultSteps } from './json-fault'

interface ByFileProps {
  /** The name of the file without its ending. */
  readonly name: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly onCancel: () => void
}

/** The way to edit an object that is too large for a field: as a file. */
export function ByFile({ name, text, onText, onCancel }: ByFileProps) {
  const input = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<unknown>(undefined)
  const choose = async (file: File | undefined) => {
    if (file === undefined) return
    const given = await file.text()
    const fault = await inSlices(faultSteps(given))
    setError(fault === undefined ? undefined : new Error(`${file.name}: ${fault.sentence}`))
    if (fault === undefined) onText(given)
  }
  return (
    <>
      <p>
        This object has {sizeText(text.length)}, which is too much for an editor in a browser.
        Download it, change the file with an editor of this machine, and choose it here: the
        difference is shown before anything is stored.
      </p>
      <Failure error={error} />
      <div class="actions">
        <button class="main" onClick={() => saveFile(`${name}.json`, 'application/json', [text])}>
          Download
        </button>
        <button onClick={() => input.current?.click()}>Choose the changed file</button>
        <button onClick={onCancel}>Cancel</button>
      </div>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json"
        aria-label="The changed file"
        onChange={({ currentTarget }) => {
          void choose(currentTarget.files?.[0]).catch(setError)
          // The same file may be chosen again after it was changed.
          currentTarget.value = ''
        }}
      />
    </>
  )
}
