import { describe, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { requireLog, requireSoundLog } from '../../src/sqlite/log-file'
import { temporaryFolder } from '../setup'

const PAGE = 4096
const FRAME = PAGE + 24
const HEADER = 32

/** A database with a log of several commits, as a process that was killed leaves it. */
function setup(commits = 6) {
  const folder = temporaryFolder()
  const file = join(folder.path, 'database.sqlite')
  const db = new Database(file)
  db.run('PRAGMA journal_mode = WAL')
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run('CREATE TABLE a (n INTEGER PRIMARY KEY, text TEXT)')
  const insert = (text: string) => db.run('INSERT INTO a (text) VALUES (?)', [text])
  for (let n = 0; n < commits; n += 1) insert('x'.repeat(6_000))
  const log = `${file}-wal`
  return {
    file,
    log,
    db,
    insert,
    frames: () => (statSync(log).size - HEADER) / FRAME,
    change(at: number) {
      const bytes = readFileSync(log)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(log, bytes)
    },
    restore: (bytes: Buffer) => writeFileSync(log, bytes),
    bytes: () => readFileSync(log),
    /** As the crash of a machine may lose it. */
    loseIndex: () => rmSync(`${file}-shm`),
    isSound() {
      try {
        requireLog(file)
        requireSoundLog(file)
        return true
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    [Symbol.dispose]() {
      db.close()
      folder[Symbol.dispose]()
    },
  }
}

describe('a write-ahead log', () => {
  test('is sound as SQLite leaves it, with frames of a rolled back transaction and of an earlier generation', () => {
    using place = setup()
    expect(place.isSound()).toBe(true)
    place.db.run('PRAGMA cache_size = 2')
    place.db.run('BEGIN')
    for (let n = 0; n < 40; n += 1) place.insert('y'.repeat(9_000))
    const spilled = place.frames()
    place.db.run('ROLLBACK')
    place.insert('z')
    // The frames that were spilled follow those of the last commit.
    expect(place.frames()).toBe(spilled)
    expect(place.isSound()).toBe(true)
    place.db.run('PRAGMA wal_checkpoint(RESTART)')
    for (let n = 0; n < 3; n += 1) place.insert('w')
    expect(place.frames()).toBe(spilled)
    expect(place.isSound()).toBe(true)
  })

  test('is refused when any byte before its last commit is damaged, with the place to cut it', () => {
    using place = setup()
    const bytes = place.bytes()
    const frames = place.frames()
    // Without the last commit, and the frame that ends the one before.
    for (let frame = 0; frame < frames - 5; frame += 1) {
      for (const at of [0, 5, 9, 17, 24, 2_000, FRAME - 1]) {
        place.restore(bytes)
        place.change(HEADER + frame * FRAME + at)
        const found = place.isSound()
        expect({ frame, at, found }).toEqual({
          frame,
          at,
          found: expect.stringMatching(/-wal is damaged at byte \d+, and commits follow/),
        })
        // A damaged sum shows at the next frame, too.
        expect(found).toContain(`truncate -s ${HEADER + frame * FRAME} `)
      }
    }
    for (const at of [16, 25]) {
      place.restore(bytes)
      place.change(at)
      expect(place.isSound()).toContain('is damaged at byte 0')
    }
    place.restore(bytes)
    place.loseIndex()
    truncateSync(place.log, HEADER + 4 * FRAME)
    expect(place.isSound()).toBe(true)
  })

  test('that ends within a commit, or in garbage, is what a power failure leaves', () => {
    using place = setup()
    const bytes = place.bytes()
    const frames = place.frames()
    place.loseIndex()
    for (const cut of [1, 100, FRAME, FRAME + 10]) {
      place.restore(bytes.subarray(0, bytes.length - cut))
      expect(place.isSound()).toBe(true)
    }
    place.restore(
      Buffer.concat([bytes.subarray(0, HEADER + (frames - 2) * FRAME), Buffer.alloc(9_000, 7)]),
    )
    expect(place.isSound()).toBe(true)
    place.restore(bytes.subarray(0, 20))
    expect(place.isSound()).toBe(true)
  })

  test('that is gone or empty is refused when its index names commits that were in it alone', () => {
    using place = setup()
    const [bytes, frames] = [place.bytes(), place.frames()]
    const index = readFileSync(`${place.file}-shm`)
    for (const length of [0, 20]) {
      place.restore(bytes.subarray(0, length))
      expect(place.isSound()).toContain(
        `is damaged at byte 0, in its last commit: put both files back from a backup, or give these commits up with truncate -s 0 ${place.log} and rm ${place.file}-shm`,
      )
    }
    rmSync(place.log)
    expect(place.isSound()).toContain(`is gone, and ${frames} pages of commits were in it alone`)
    expect(place.isSound()).toContain(`rm ${place.file}-shm`)
    // An index that is damaged says nothing, nor does none.
    writeFileSync(`${place.file}-shm`, Buffer.alloc(index.length, 7))
    expect(place.isSound()).toBe(true)
    writeFileSync(`${place.file}-shm`, index.subarray(0, 90))
    expect(place.isSound()).toBe(true)
    place.loseIndex()
    expect(place.isSound()).toBe(true)
  })

  test('is not missed when all of it is in the file', () => {
    using place = setup()
    place.db.run('PRAGMA wal_checkpoint(PASSIVE)')
    renameSync(place.log, `${place.log}.away`)
    expect(place.isSound()).toBe(true)
    renameSync(`${place.log}.away`, place.log)
    place.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    expect(statSync(place.log).size).toBe(0)
    expect(place.isSound()).toBe(true)
    rmSync(place.log)
    expect(place.isSound()).toBe(true)
  })

  test('is refused for damage in its last commit when its index names that commit', () => {
    using place = setup()
    const bytes = place.bytes()
    const last = HEADER + (place.frames() - 1) * FRAME
    for (const at of [last, last + 9, last + 30, last + FRAME - 1]) {
      place.restore(bytes)
      place.change(at)
      expect(place.isSound()).toContain(`is damaged at byte ${last}, in its last commit`)
    }
    place.restore(bytes.subarray(0, last))
    expect(place.isSound()).toContain(`truncate -s ${last} ${place.log} and rm ${place.file}-shm`)
    // An index that is older, damaged or of another generation says nothing.
    const index = readFileSync(`${place.file}-shm`)
    for (const at of [16, 32, 41, 48 + 16]) {
      const other = Buffer.from(index)
      other[at] = (other[at] ?? 0) ^ 1
      writeFileSync(`${place.file}-shm`, other)
      expect(place.isSound()).toBe(true)
    }
    place.restore(bytes)
    writeFileSync(`${place.file}-shm`, index)
    place.insert('more')
    writeFileSync(`${place.file}-shm`, index)
    expect(place.isSound()).toBe(true)
  })
})
