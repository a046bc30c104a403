import process from 'node:process'
import { PropModification } from 'dexie'

/**
 * Reads a JSON array of texts from standard input and writes, for each, what the two official clients
 * make of it as they run in a browser: null, or the error they throw. Browsers have no `Buffer`, whose
 * decoding of base64 takes anything; the library looks for it when it is loaded.
 */
export interface Decoded {
  readonly addon: string | null
  readonly sdk: string | null
}

Reflect.deleteProperty(globalThis, 'Buffer')
const common = await import('dexie-cloud-common')

/** protocol.md §1.2, third column. */
const ADDON = common.TypesonSimplified(
  common.typedArrayTypeDefs,
  common.arrayBufferTypeDef,
  common.blobTypeDef,
  common.numberTypeDef,
  common.dateTypeDef,
  common.setTypeDef,
  common.mapTypeDef,
  common.undefinedTypeDef,
  common.fileTypeDef,
  {
    PropModification: {
      replace: (value: PropModification) => ({ $t: 'PropModification', ...value['@@propmod'] }),
      revive: (spec: PropModification['@@propmod']) => new PropModification(spec),
    },
  },
)

/** Its fourth column. */
const SDK = common.TypesonSimplified(common.builtInTypeDefs, {
  URL: {
    replace: (value: URL) => ({ $t: 'URL', href: value.href }),
    revive: ({ href }: { href: string }) => new URL(href),
  },
})

interface Client {
  parse(text: string): unknown
}

function failureOf(client: Client, types: ReadonlySet<string>, text: string): string | null {
  try {
    const revived = client.parse(text)
    return isRevived(types, JSON.parse(text), revived) ? null : `became ${Bun.inspect(revived)}`
  } catch (error) {
    return String(error)
  }
}

type Wire = Readonly<Record<string, unknown>>

/** Whether a value was revived as the one that it is on the wire, and nothing beside it was lost. */
function isRevived(types: ReadonlySet<string>, wire: unknown, revived: unknown): boolean {
  if (typeof wire !== 'object' || wire === null) return wire === revived
  if (Array.isArray(wire)) return isRevivedArray(types, wire, revived)
  const { $t: type, v } = wire as Wire
  if (typeof type === 'string' && types.has(type)) return isTyped(types, type, v, revived)
  if (typeof revived !== 'object' || revived === null) return false
  const names = Object.keys(wire)
  return (
    Object.getPrototypeOf(revived) === Object.prototype &&
    Object.keys(revived).length === names.length &&
    names.every((name) => {
      const own = name.startsWith('$$') ? name.slice(1) : name
      const [sent, received] = [(wire as Wire)[name], (revived as Wire)[own]]
      return Object.hasOwn(revived, own) && isRevived(types, sent, received)
    })
  )
}

function isRevivedArray(types: ReadonlySet<string>, wire: unknown[], revived: unknown): boolean {
  if (!Array.isArray(revived) || revived.length !== wire.length) return false
  return wire.every((element, position) => isRevived(types, element, revived[position]))
}

function isTyped(types: ReadonlySet<string>, type: string, v: unknown, revived: unknown): boolean {
  if (type === 'undefined') return revived === undefined
  if (type === 'number') return Object.is(revived, Number(v))
  if (type === 'bigint') return revived === BigInt(v as string)
  if (type === 'File') return revived instanceof File
  if (Object.prototype.toString.call(revived) !== `[object ${type}]`) return false
  if (revived instanceof Date) return Number.isNaN(revived.getTime()) === (v === 'NaN')
  if (revived instanceof Set) return isRevivedArray(types, distinct(v), [...revived])
  return !(revived instanceof Map) || revived.size <= (v as unknown[]).length
}

/** Of primitive elements; objects of a Set are never equal. */
function distinct(v: unknown): unknown[] {
  return [...new Set(v as unknown[])]
}

const COMMON = [
  ...Object.keys(common.typedArrayTypeDefs),
  'ArrayBuffer',
  'Blob',
  'number',
  'Date',
  'Set',
  'Map',
]
const ADDON_TYPES = new Set([...COMMON, 'undefined', 'File', 'PropModification'])
const SDK_TYPES = new Set([...COMMON, 'bigint', 'URL'])

const texts = (await Bun.stdin.json()) as string[]
const decoded = texts.map((text): Decoded => {
  return { addon: failureOf(ADDON, ADDON_TYPES, text), sdk: failureOf(SDK, SDK_TYPES, text) }
})
process.stdout.write(JSON.stringify(decoded))
