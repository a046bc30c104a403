import { useEffect, useState } from 'preact/hooks'
import { MailFrame } from '../mail/mail-frame'
import { Failure } from '../parts/failure'
import { FormDialog } from '../parts/form-dialog'
import { Segments } from '../parts/segments'
import { Text } from '../parts/text'
import { visible } from '../parts/visible'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

/** A part of the mails of a kind: `otp-subject`. */
export interface Template {
  readonly id: string
  readonly content: string
  /** False for a built-in one. */
  readonly isOwn: boolean
}

/** Changes a template beside the mail that it makes. */
export function TemplateDialog({
  template: { id, ...stored },
  onClose,
  onSaved,
}: {
  template: Template
  onClose: () => void
  onSaved: () => void
}) {
  const [content, setContent] = useState(stored.content)
  const save = async () => {
    const now = await call<Template>('template.show', { database: database.value, name: id })
    if (now.content !== stored.content) {
      throw new Error(
        'Somebody else has changed the template meanwhile: close this, and begin again',
      )
    }
    const upload = new Blob([content])
    await call('template.set', { database: database.value, name: id }, { upload })
    tellDone(`The template ${id} was saved`)
    onSaved()
  }
  return (
    <FormDialog title={id} action="Save" isWide onSubmit={save} onClose={onClose}>
      <div class="side-by-side">
        <label>
          <span>Handlebars</span>
          <textarea
            autofocus
            required
            class="mono"
            spellcheck={false}
            value={content}
            onInput={({ currentTarget }) => setContent(currentTarget.value)}
          />
          <small class="soft">
            <a href="docs/login" target="_blank" rel="noopener">
              Names that it may use
            </a>
          </small>
        </label>
        <Preview id={id} content={content} />
      </div>
    </FormDialog>
  )
}

interface Wording {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** The preview follows when nothing was typed for so long. */
const PAUSE_MS = 400

/** A sample mail with the template as it is typed, stored or not. */
function Preview({ id, content }: { id: string; content: string }) {
  const [shown, setShown] = useState(content)
  const [form, setForm] = useState<'text' | 'html'>(id.endsWith('html') ? 'html' : 'text')
  useEffect(() => {
    const timer = setTimeout(() => setShown(content), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [content])
  const input = { database: database.value, name: id, content: shown }
  const { value, error, isLoading } = useOperation<Wording>('template.preview', input)
  return (
    <section class="field" aria-label="Preview" aria-busy={isLoading}>
      <header class="value-head">
        <span>Preview with sample data</span>
        <Segments
          label="Form"
          choices={[
            ['text', 'Text'],
            ['html', 'HTML'],
          ]}
          chosen={form}
          onChoose={setForm}
        />
      </header>
      <p class="preview-subject clip">{value !== undefined && <Text text={value.subject} />}</p>
      {form === 'html' && error === undefined ? (
        <MailFrame operation="template.preview" input={input} />
      ) : (
        <pre class="mail-text" tabIndex={0} role="region" aria-label="Text of the mail">
          {visible(value?.text ?? '')}
        </pre>
      )}
      <Failure error={error} />
    </section>
  )
}
