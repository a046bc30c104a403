import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { readyLine, readyText } from '../../src/cli/serve'
import { processTerminal } from '../../src/cli/terminal'
import { readConfig } from '../../src/config/config'
import type { Server } from '../../src/server'

const url = 'http://127.0.0.1:7080'
const client = { clientId: 'the-id', clientSecret: 'the-secret' }
const server: Server = {
  url,
  folder: resolve('data'),
  databases: [{ name: 'main', url: `${url}/main` }],
  stop: async () => {},
  reload: async () => {},
  [Symbol.asyncDispose]: async () => {},
}

function textOf(
  of: Server,
  isOutputTerminal: boolean,
  flags: Readonly<Record<string, unknown>> = {},
) {
  const config = readConfig({ environment: {}, flags })
  return readyText(of, config, { ...processTerminal(), isOutputTerminal })
}

test('programs get one line, with the client on the start that made it', () => {
  const databases = [{ name: 'main', url: `${url}/main` }]
  expect(JSON.parse(readyLine(server))).toEqual({
    event: 'ready',
    url,
    databases,
    folder: resolve('data'),
    pid: process.pid,
  })
  expect(JSON.parse(readyLine({ ...server, client }))).toEqual({
    event: 'ready',
    url,
    databases,
    client,
    folder: resolve('data'),
    pid: process.pid,
  })
  expect(readyLine({ ...server, client })).not.toContain('\n')
})

test('people get the address, the folder, what to try and, on a terminal only, the secret', () => {
  const watched = textOf({ ...server, client }, true)
  for (const part of [`${url}/main`, resolve('data'), 'the-id', 'the-secret', 'schema push']) {
    expect(watched).toContain(part)
  }
  const unwatched = textOf({ ...server, client }, false)
  expect(unwatched).toContain('satchel client rotate the-id')
  expect(unwatched).not.toContain('the-secret')
  expect(textOf(server, true)).not.toContain('Client')
})

test('people get told which flags mails need, where they are not printed', () => {
  const NEEDED = 'set --smtp-url or --mail-hook, or --print-mails for tests'
  expect(textOf(server, true, { host: '0.0.0.0' })).toContain(NEEDED)
  expect(textOf(server, true)).not.toContain(NEEDED)
  expect(textOf(server, true, { host: '0.0.0.0', printMails: true })).not.toContain(NEEDED)
})

test('the suggested commands name the folder unless it is the default', () => {
  expect(textOf(server, true)).not.toContain('--data')
  expect(textOf({ ...server, folder: '/srv/data' }, true)).toContain('--data /srv/data')
  const inMemory = textOf({ ...server, folder: '/dev/shm/x' }, true, { memory: true })
  expect(inMemory).toContain('in memory, discarded at exit')
  expect(inMemory).toContain('--data /dev/shm/x')
})
