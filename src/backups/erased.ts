import { ERASED_LIST, folderOf, type Manifest } from '../domain/backup/manifest'
import type { ErasedUser } from '../domain/store/copy'
import { SatchelError } from '../domain/value/error'
import { linesOf, readManifestOf } from './contents'
import { readWhole } from './read'
import type { Target } from './target'

export interface LaterErasures {
  /** Users by the id of their database. */
  readonly usersById: ReadonlyMap<string, readonly ErasedUser[]>
  /** The backups that cannot be read. */
  readonly unread: readonly string[]
}

/** The users that the backups of a target which were made after this one name as deleted. */
export async function readLaterErasures(target: Target, backup: string): Promise<LaterErasures> {
  const found = new Map<string, ErasedUser & { readonly database: string }>()
  const unread: string[] = []
  const names = await target.list()
  for (const later of names.slice(names.indexOf(backup) + 1)) {
    try {
      const { manifest } = await readManifestOf(target, later)
      for await (const erasure of erasuresIn(target, later, manifest)) {
        // Each later backup names them again.
        const { database, number, created } = erasure
        found.set(`${database} ${number} ${created}`, erasure)
      }
    } catch (error) {
      // It is damaged, or sealed with another key: that stops no restore of this one.
      if (!(error instanceof SatchelError)) throw error
      unread.push(later)
    }
  }
  const usersById = Map.groupBy(found.values(), ({ database }) => database)
  return { usersById, unread }
}

/** The deleted users in the lists of a backup, with the ids of their databases. */
async function* erasuresIn(
  target: Target,
  backup: string,
  { databases, files }: Manifest,
): AsyncGenerator<ErasedUser & { readonly database: string }> {
  for (const { name, facts } of databases) {
    const path = `${folderOf(name)}/${ERASED_LIST}`
    const file = files.find((known) => known.path === path)
    if (file === undefined) continue
    for await (const user of linesOf<ErasedUser>(readWhole(target, backup, file))) {
      yield { ...user, database: facts.id }
    }
  }
}
