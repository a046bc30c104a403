import { dirname, join, relative, resolve } from 'node:path'
import { parseSync } from 'oxc-parser'

/** A source file and the files below `src` that it imports. */
export interface Source {
  /** Relative to the root, as `src/domain/object/get.ts`. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
}

export interface Import {
  readonly path: string
  /** It is gone when the program runs. */
  readonly isType: boolean
}

/** Reads every TypeScript file below `src` of a checkout, in the order of their paths. */
export async function readSources(root: string): Promise<Source[]> {
  const paths = [...new Bun.Glob('src/**/*.ts').scanSync(root)].toSorted()
  const known = new Set(paths)
  return await Promise.all(
    paths.map(async (path) => {
      const text = await Bun.file(join(root, path)).text()
      const imports = importsIn(path, text)
        .map(({ request, isType }) => ({ path: fileOf(path, request), isType }))
        .filter((each) => known.has(each.path))
      return { path, lines: text.trimEnd().split('\n').length, imports: merge(imports) }
    }),
  )
}

interface Request {
  readonly request: string
  readonly isType: boolean
}

/** The modules that a file names: `import`, `export … from` and `import()` of a plain string. */
function importsIn(path: string, text: string): Request[] {
  const { module } = parseSync(path, text)
  const areTypes = (entries: readonly { readonly isType: boolean }[]) =>
    entries.length > 0 && entries.every(({ isType }) => isType)
  const imported = module.staticImports.map(({ moduleRequest, entries }) => ({
    request: moduleRequest.value,
    isType: areTypes(entries),
  }))
  const passedOn = module.staticExports.flatMap(({ entries }) => {
    const request = entries[0]?.moduleRequest?.value
    return request === undefined ? [] : [{ request, isType: areTypes(entries) }]
  })
  const lazy = module.dynamicImports.map(({ moduleRequest }) => ({
    request: text.slice(moduleRequest.start + 1, moduleRequest.end - 1),
    isType: false,
  }))
  return [...imported, ...passedOn, ...lazy]
}

function fileOf(importer: string, request: string): string {
  if (!request.startsWith('.')) return request
  const path = relative('.', resolve(dirname(importer), request))
  return path.endsWith('.ts') ? path : `${path}.ts`
}

/** One import per file: two statements that name the same file are one. */
function merge(imports: readonly Import[]): Import[] {
  const byPath = new Map<string, Import>()
  for (const each of imports) {
    const isType = each.isType && (byPath.get(each.path)?.isType ?? true)
    byPath.set(each.path, { path: each.path, isType })
  }
  return [...byPath.values()]
}
