import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { FormDialog } from '../parts/form-dialog'
import { Icon } from '../parts/icon'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { askToDestroy } from '../shell/destroy'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

interface Template {
  readonly id: string
  readonly content: string
  /** False for a built-in one. */
  readonly isOwn: boolean
}

/** The templates of mails: those of the database, and the built-in ones for the rest. */
export function Templates() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<readonly Template[]>('template.list', input)
  const [edited, setEdited] = useState<Template | null>(null)
  const isWriting = !isReadOnly.value
  return (
    <section class="part box">
      <h2>Mail templates</h2>
      <Failure error={error} onAgain={reload} />
      <ul class="rows">
        {value?.map((template) => (
          <li key={template.id}>
            <span class="list-main">
              <span class="clip">{template.id}</span>
            </span>
            <span class={`badge ${template.isOwn ? 'info' : ''}`}>
              {template.isOwn ? 'own' : 'built in'}
            </span>
            {isWriting && may('template.set') && (
              <button
                class="plain"
                title="Change"
                aria-label={`Change ${template.id}`}
                onClick={() => setEdited(template)}
              >
                <Icon name="edit" />
              </button>
            )}
            {isWriting && may('template.reset') && template.isOwn && (
              <button
                class="plain"
                title="Return to the built-in one"
                aria-label={`Return to the built-in ${template.id}`}
                onClick={() =>
                  askToDestroy({
                    title: 'Return to the built-in template',
                    name: template.id,
                    operation: 'template.reset',
                    input: { ...input, name: template.id },
                    isTyped: false,
                    onDone: reload,
                  })
                }
              >
                <Icon name="reload" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {edited !== null && (
        <TemplateDialog
          template={edited}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setEdited(null)
            reload()
          }}
        />
      )}
    </section>
  )
}

function TemplateDialog({
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
    const upload = new Blob([content])
    await call('template.set', { database: database.value, name: id }, { upload })
    tellDone(`The template ${id} was saved`)
    onSaved()
  }
  return (
    <FormDialog title={id} action="Save" onSubmit={save} onClose={onClose}>
      <label>
        <span>Handlebars</span>
        <textarea
          autofocus
          required
          class="mono"
          rows={14}
          spellcheck={false}
          value={content}
          onInput={({ currentTarget }) => setContent(currentTarget.value)}
        />
      </label>
      <p class="soft small">
        A test mail, above, shows it filled in.{' '}
        <a href="docs/login" target="_blank" rel="noopener">
          Names that it may use
        </a>
      </p>
    </FormDialog>
  )
}
