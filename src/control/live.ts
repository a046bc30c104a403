import { READ } from '../domain/access/door'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Serving } from '../host/serving'
import { onDatabase } from './operation'
import { followed } from './queue'

export const liveOperations = {
  /**
   * Emits what is written to the database, what each device hears of it, and what is refused (`LiveEvent`), until the
   * caller leaves or the database is gone. Throws `UNPROCESSABLE` where no server runs.
   */
  'live.follow': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'Follow what is written and who hears of it',
      input: {},
      follows: true,
    },
    async (opened, _input, { folder, emit, signal }) => {
      const { live } = requireServer(folder)
      await followed({ emit, signal }, (take, end) => live.follow(opened, { take, ended: end }))
      return {}
    },
  ),
}

/** The server of this process. Throws `UNPROCESSABLE`. */
export function requireServer(folder: DataFolder): Serving {
  const serving = folder.serving()
  if (serving !== null) return serving
  throw new SatchelError(
    'UNPROCESSABLE',
    'No server runs on this data folder, so that there is nothing to follow: start one with satchel serve',
  )
}
