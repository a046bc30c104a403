import { join } from 'node:path'
import process from 'node:process'
import type { Decoded } from './client-decoders'

/** What both official clients make of rows that stand between others in one answer. */
export async function decodeRows(rows: readonly string[]): Promise<Decoded[]> {
  const texts = rows.map((row) => `[{"id":1,"$$of":"user"},${row},{"id":2,"$$of":"user"}]`)
  await using decoders = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'client-decoders.ts')],
    {
      stdin: new Blob([JSON.stringify(texts)]),
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  return (await new Response(decoders.stdout).json()) as Decoded[]
}
