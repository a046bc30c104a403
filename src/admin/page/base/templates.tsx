import { useState } from 'preact/hooks'
import { DestroyButton } from '../parts/destroy-button'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { type Template, TemplateDialog } from './template-dialog'

/** The templates of mails: those of the database, and the built-in ones for the rest. */
export function Templates() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<readonly Template[]>('template.list', input)
  const [edited, setEdited] = useState<Template | null>(null)
  const isWriting = !isReadOnly.value
  // Others may have changed the template while it was open.
  const close = () => {
    setEdited((now) => (now === edited ? null : now))
    reload()
  }
  return (
    <section class="part box">
      <h2>Mail templates</h2>
      <p class="soft small">
        A mail has a subject, a text and an HTML body: of a login code (otp) and of an invitation.
      </p>
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
              <DestroyButton
                label={`Return to the built-in ${template.id}`}
                tip="Return to the built-in one"
                title="Return to the built-in template"
                done="The built-in template is back"
                name={template.id}
                operation="template.reset"
                input={{ ...input, name: template.id }}
                isTyped={false}
                onDone={reload}
              >
                <Icon name="reload" />
              </DestroyButton>
            )}
          </li>
        ))}
      </ul>
      {edited !== null && <TemplateDialog template={edited} onClose={close} onSaved={close} />}
    </section>
  )
}
