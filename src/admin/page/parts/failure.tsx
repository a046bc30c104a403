import { sentenceOf } from '../server/refusal'
import { Icon } from './icon'
import { visible } from './visible'

/** The reason why a part shows nothing. */
export function Failure({ error, onAgain }: { error: unknown; onAgain?: () => void }) {
  if (error === undefined || error === null) return null
  return (
    <div class="failure" role="alert">
      <Icon name="alert" />
      <span dir="auto">{visible(sentenceOf(error))}</span>
      {onAgain !== undefined && (
        <button class="small-button" onClick={onAgain}>
          Try again
        </button>
      )}
    </div>
  )
}
