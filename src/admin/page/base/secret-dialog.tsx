import { Copy } from '../parts/copy'
import { Dialog } from '../parts/dialog'

export interface Secret {
  readonly title: string
  readonly values: readonly (readonly [name: string, value: string])[]
}

/** Shows a secret once. */
export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  return (
    <Dialog title={secret.title} onClose={onClose}>
      <p>Keep it now: the secret cannot be shown again.</p>
      {secret.values.map(([name, value]) => (
        <div key={name} class="field">
          <span>{name}</span>
          <div class="command">
            <code class="clip">{value}</code>
            <Copy text={value} label={`Copy: ${name}`} />
          </div>
        </div>
      ))}
      <div class="actions">
        <button class="main" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
