import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon'
import { Value } from './cell'
import { describe, type Members } from './typed'
import { Text } from '../parts/text'

/** Values inside others are opened to this depth at first. */
const OPEN_DEPTH = 1
/** The most entries that are shown at once. */
const PAGE = 200
/** The most characters of a text that are shown at once. */
const LONG = 2_000

/** The values of an object by name, each of which opens. */
export function Tree({ members, depth = 0 }: { members: Members; depth?: number }) {
  const [shown, setShown] = useState(PAGE)
  return (
    <ul class="tree">
      {members.first(shown).map(([name, value]) => (
        <Branch key={name} name={name} value={value} depth={depth} />
      ))}
      {shown < members.count && (
        <li>
          <button class="link" onClick={() => setShown(shown + 10 * PAGE)}>
            {(members.count - shown).toLocaleString()} more
          </button>
        </li>
      )}
    </ul>
  )
}

const NOTHING: Members = { count: 0, first: () => [] }

function Branch({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const described = describe(value)
  const inside = 'count' in described ? described : NOTHING
  const [isOpen, setIsOpen] = useState(depth < OPEN_DEPTH && inside.count <= 20)
  if (inside.count === 0) {
    return (
      <li class="leaf">
        <Name name={name} />
        <Leaf value={value} />
      </li>
    )
  }
  return (
    <li>
      <button class="branch" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Icon name="right" />
        <Name name={name} />
        {isOpen ? (
          <span class="soft small">{countOf(inside.count, described.kind === 'list')}</span>
        ) : (
          <span class="clip">
            <Value value={value} />
          </span>
        )}
      </button>
      {isOpen && <Tree members={inside} depth={depth + 1} />}
    </li>
  )
}

function countOf(count: number, isList: boolean): string {
  if (count === 1) return isList ? '1 item' : '1 property'
  return `${count.toLocaleString()} ${isList ? 'items' : 'properties'}`
}

function Name({ name }: { name: string }) {
  return (
    <span class="name">
      <Text text={name} />
    </span>
  )
}

/** Long texts are opened on demand: a megabyte takes a browser seconds to lay out. */
function Leaf({ value }: { value: unknown }) {
  const [isWhole, setIsWhole] = useState(false)
  const { kind, text } = describe(value)
  if (kind !== 'string' || text.length < 200) return <Value value={value} />
  return (
    <span class="long">
      <Text text={isWhole ? text : text.slice(0, LONG)} most={Infinity} />
      {!isWhole && text.length > LONG && (
        <button class="link" onClick={() => setIsWhole(true)}>
          {' '}
          all {text.length.toLocaleString()} characters
        </button>
      )}
    </span>
  )
}
