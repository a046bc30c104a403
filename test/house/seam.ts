import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

const SEAM = 'src/domain/store'

/** Files that no engine implements: what sends mails and seals secrets, and what test mode alone needs. */
const OF_NO_ENGINE: readonly string[] = ['mailer.ts', 'vault.ts', 'test-store.ts']

/** What the domain hands to an engine. */
const OF_THE_DOMAIN: ReadonlySet<string> = new Set(['ManyEntries', 'SizeLimit'])

/** The methods that an engine implements, by interface. */
export type Seam = ReadonlyMap<string, readonly string[]>

export async function readSeam(root: string): Promise<Seam> {
  const folder = join(root, SEAM)
  const files = [...new Bun.Glob('*.ts').scanSync(folder)].filter(
    (file) => !OF_NO_ENGINE.includes(file),
  )
  const texts = await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()))
  return seamIn(texts)
}

/** A method that a writer has of its reader counts once, also where the writer declares it again. */
export function seamIn(texts: readonly string[]): Seam {
  const found = new Map<string, readonly string[]>()
  const bases = new Map<string, readonly string[]>()
  for (const text of texts) {
    for (const node of parseSync('seam.ts', text).program.body) {
      const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : node
      if (declared?.type !== 'TSInterfaceDeclaration') continue
      const { name } = declared.id
      if (OF_THE_DOMAIN.has(name)) continue
      found.set(name, [...new Set(declared.body.body.flatMap(methodIn))])
      bases.set(
        name,
        declared.extends.flatMap(({ expression }) =>
          expression.type === 'Identifier' ? [expression.name] : [],
        ),
      )
    }
  }
  const seam = new Map<string, readonly string[]>()
  for (const [name, methods] of found) {
    const inherited = new Set((bases.get(name) ?? []).flatMap((base) => found.get(base) ?? []))
    const own = methods.filter((method) => !inherited.has(method))
    if (own.length > 0) seam.set(name, own)
  }
  return seam
}

type Member = Extract<
  ReturnType<typeof parseSync>['program']['body'][number],
  { type: 'TSInterfaceDeclaration' }
>['body']['body'][number]

function methodIn(member: Member): string[] {
  if (member.type === 'TSCallSignatureDeclaration') return ['()']
  if (member.type !== 'TSMethodSignature' || member.key.type !== 'Identifier') return []
  return [member.key.name]
}

export function countMethods(seam: Seam): number {
  return [...seam.values()].reduce((sum, methods) => sum + methods.length, 0)
}
