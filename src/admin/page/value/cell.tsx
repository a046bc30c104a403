import { exactTime } from '../parts/ago'
import { Icon } from '../parts/icon'
import { describe } from './typed'
import { shortText, Text } from '../parts/text'

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** A value in one line, as a person reads it. */
export function Value({ value }: { value: unknown }) {
  const described = describe(value)
  const text = shortText(described.text)
  switch (described.kind) {
    case 'date': {
      const date = new Date(described.at)
      return (
        <time class="v-date" dateTime={date.toISOString()} title={exactTime(date)}>
          {TIME.format(date)}
        </time>
      )
    }
    case 'link':
      return (
        <a href={described.href} target="_blank" rel="noopener noreferrer" dir="ltr">
          {text}
        </a>
      )
    case 'bytes':
      return (
        <span class="v-bytes">
          <Icon name="bytes" />
          {text}
        </span>
      )
    case 'string':
      return <Text text={described.text} />
    case 'null':
    case 'special':
      return <span class="v-null">{text}</span>
    case 'boolean':
      return <span class={`v-boolean ${text}`}>{text}</span>
    case 'number':
    case 'bigint':
      return <span class="v-number">{text}</span>
    case 'list':
    case 'object':
      return (
        <span class="v-object">
          <Text text={described.text} />
        </span>
      )
    default:
      return null
  }
}
