import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { shortText, Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

interface Origin {
  readonly origin: string
}

/** The origins whose pages may call the database. */
export function Origins() {
  const input = { database: database.value }
  const { value, error, reload } = useOperation<readonly (Origin | string)[]>('origin.list', input)
  const [text, setText] = useState('')
  const [failure, setFailure] = useState<unknown>(undefined)
  const isWriting = may('origin.add') && !isReadOnly.value
  const change = async (operation: string, origin: string) => {
    try {
      await call(operation, { ...input, origin })
      setFailure(undefined)
      setText('')
      tellDone(operation === 'origin.add' ? 'The origin was added' : 'The origin was removed')
      reload()
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <section class="part box">
      <h2>Origins</h2>
      <p class="soft small">
        Pages of these origins may call the database. In development, those of this machine may,
        too.
      </p>
      <Failure error={error ?? failure} />
      <ul class="rows">
        {value?.map((each) => {
          const origin = typeof each === 'string' ? each : each.origin
          return (
            <li key={origin}>
              <span class="list-main">
                <Text text={origin} />
              </span>
              {isWriting && (
                <button
                  class="plain"
                  aria-label={`Remove ${shortText(origin)}`}
                  onClick={() => void change('origin.remove', origin)}
                >
                  <Icon name="trash" />
                </button>
              )}
            </li>
          )
        })}
        {value?.length === 0 && <li class="soft">None.</li>}
      </ul>
      {isWriting && (
        <form
          class="joined"
          onSubmit={(event) => {
            event.preventDefault()
            void change('origin.add', text.trim())
          }}
        >
          <input
            required
            aria-label="Origin"
            placeholder="https://app.example.com"
            value={text}
            spellcheck={false}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <button>Add</button>
        </form>
      )}
    </section>
  )
}
