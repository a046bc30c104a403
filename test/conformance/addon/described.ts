/** A value told by message: bytes in base64 beside the name of what they are. */
export type Described =
  | string
  | number
  | boolean
  | null
  | { readonly bytes: string; readonly as: string; readonly type?: string }
  | readonly Described[]
  | { readonly of: Readonly<Record<string, Described>> }

const VIEWS = { Uint8Array, Float64Array, DataView } as const

/** A described value. */
export function valueOf(described: Described): unknown {
  if (typeof described !== 'object' || described === null) return described
  if (Array.isArray(described)) return described.map((each: Described) => valueOf(each))
  if ('of' in described) {
    return Object.fromEntries(
      Object.entries(described.of).map(([name, value]) => [name, valueOf(value)]),
    )
  }
  if (!('bytes' in described)) return described
  const { buffer } = new Uint8Array(Buffer.from(described.bytes, 'base64'))
  if (described.as === 'Blob') return new Blob([buffer], { type: described.type ?? '' })
  if (described.as === 'ArrayBuffer') return buffer
  const View = VIEWS[described.as as keyof typeof VIEWS] as typeof Uint8Array
  return new View(buffer)
}

export async function descriptionOf(value: unknown): Promise<Described> {
  if (typeof value !== 'object' || value === null) return value as Described
  if (Array.isArray(value)) return await Promise.all(value.map(descriptionOf))
  if (value instanceof Blob) {
    return { bytes: base64(await value.bytes()), as: 'Blob', type: value.type }
  }
  if (value instanceof ArrayBuffer) return { bytes: base64(value), as: 'ArrayBuffer' }
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    const bytes = base64(new Uint8Array(buffer, byteOffset, byteLength))
    return { bytes, as: value.constructor.name }
  }
  const members: Record<string, Described> = {}
  for (const [name, member] of Object.entries(value)) members[name] = await descriptionOf(member)
  return { of: members }
}

function base64(bytes: Uint8Array | ArrayBuffer): string {
  return Buffer.from(new Uint8Array(bytes as ArrayBuffer)).toString('base64')
}
