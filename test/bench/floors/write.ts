import { openDatabase } from './database'
import type { Floor } from './floor'
import { parseObject, parseObjects, prepareInsert } from './insert'

/** One object per request, everything that waits at the same time in one commit. */
export const groupFloor: Floor = ({ file, init, indexes }) => {
  const database = openDatabase(file)
  const insert = prepareInsert(database, 'items', indexes)
  let revision = 0
  let waiting: { body: string; answer: (stored: string) => void }[] = []

  const commitGroup = () => {
    const group = waiting
    waiting = []
    database.run('BEGIN IMMEDIATE')
    const stored = group.map(({ body }) => insert(parseObject(body), ++revision))
    database.run('COMMIT')
    group.forEach(({ answer }, index) => answer(stored[index] ?? ''))
  }
  return {
    '/main/my/items': {
      POST: async (request) => {
        const body = await request.text()
        const stored = await new Promise<string>((answer) => {
          if (waiting.push({ body, answer }) === 1) setImmediate(commitGroup)
        })
        return new Response(stored, init)
      },
    },
  }
}

/** One object per request and one commit per object. */
export const singleFloor: Floor = ({ file, init, indexes }) => {
  const database = openDatabase(file)
  const insert = prepareInsert(database, 'items', indexes)
  let revision = 0
  const commitOne = database.transaction((body: string) => insert(parseObject(body), ++revision))
  return {
    '/main/my/items': {
      POST: async (request) => new Response(commitOne.immediate(await request.text()), init),
    },
  }
}

/** A batch per request and one commit per batch. */
export const batchFloor: Floor = ({ file, init, indexes }) => {
  const database = openDatabase(file)
  const insert = prepareInsert(database, 'items', indexes)
  let revision = 0
  const commitBatch = database.transaction((body: string) => {
    revision += 1
    return parseObjects(body).map((object) => insert(object, revision))
  })
  return {
    '/main/all/items': {
      POST: async (request) => {
        const stored = commitBatch.immediate(await request.text())
        return new Response(`[${stored.join(',')}]`, init)
      },
    },
  }
}
