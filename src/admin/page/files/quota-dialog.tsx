import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { sizeText } from '../value/typed'

/** The limits of blobs, as `blob.quota` has them: bytes, null for no limit. */
export interface Quota {
  readonly usage: { readonly blobs: number; readonly bytes: number }
  readonly limits: Limits
  /** Those that are not here are of the server. */
  readonly own: Partial<Limits>
}

interface Limits {
  readonly blob: number
  readonly database: number | null
  readonly user: number | null
}

const MB = 1_000_000
const NUMBER = '[0-9]*\\.?[0-9]+'

const FIELDS = [
  ['database', 'total', 'All files together'],
  ['user', 'user', 'The files that one user sends'],
  ['blob', 'blob', 'One file'],
] as const

/** Sets the limits of blobs. */
export function QuotaDialog({
  quota: { limits, own },
  onClose,
  onChanged,
}: {
  quota: Quota
  onClose: () => void
  onChanged: () => void
}) {
  const stored = Object.fromEntries(FIELDS.map(([name]) => [name, textOf(own[name])]))
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(stored)
  const save = async () => {
    const changed = FIELDS.filter(([name]) => texts[name] !== stored[name])
    const changes = changed.map(([name, field]) => [field, limitOf(texts[name] ?? '')])
    await call('blob.quota', { database: database.value, ...Object.fromEntries(changes) })
    tellDone('The limits of files were changed')
    onChanged()
  }
  return (
    <FormDialog title="Limits of files" action="Save" onSubmit={save} onClose={onClose}>
      <p class="soft small">In megabytes; 0 admits none. Empty: as the server is set.</p>
      {FIELDS.map(([name, field, title]) => (
        <label key={name}>
          <span>{title}</span>
          <input
            inputMode="decimal"
            autofocus={field === 'total'}
            pattern={field === 'blob' ? NUMBER : `${NUMBER}|none`}
            title={field === 'blob' ? 'A number' : 'A number, or none for no limit'}
            placeholder={own[name] === undefined ? sizeOf(limits[name]) : 'as the server is set'}
            autocomplete="off"
            value={texts[name]}
            onInput={({ currentTarget }) => setTexts({ ...texts, [name]: currentTarget.value })}
          />
        </label>
      ))}
    </FormDialog>
  )
}

function sizeOf(limit: number | null): string {
  return limit === null ? 'none' : sizeText(limit)
}

function textOf(limit: number | null | undefined): string {
  if (limit === undefined) return ''
  return limit === null ? 'none' : String(limit / MB)
}

function limitOf(text: string): number | 'none' | 'server' {
  const given = text.trim()
  if (given === '') return 'server'
  return given === 'none' ? 'none' : Math.round(Number(given) * MB)
}
