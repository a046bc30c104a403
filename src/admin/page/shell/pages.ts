import type { ComponentType } from 'preact'
import type { IconName } from '../parts/icon'
import { may } from '../server/session'
import { Live } from '../live/live'

/** A page of the list at the side. */
export interface PageInfo {
  readonly name: string
  readonly title: string
  readonly icon: IconName
  /** The letter after `g` that opens it. */
  readonly letter: string
  readonly group: string
  /** An operation without which the page shows nothing. */
  readonly needs: string
  load(): Promise<ComponentType>
}

/** All pages in their order. Those beside the first are loaded when they are opened. */
const PAGES: readonly PageInfo[] = [
  {
    name: 'live',
    title: 'Live',
    icon: 'live',
    letter: 'l',
    group: 'Watch',
    needs: 'live.follow',
    load: async () => Live,
  },
  {
    name: 'mail',
    title: 'Mail',
    icon: 'mail',
    letter: 'm',
    group: 'Watch',
    needs: 'mail.list',
    load: async () => (await import('../mail/mail')).Mail,
  },
  {
    name: 'data',
    title: 'Data',
    icon: 'data',
    letter: 'd',
    group: 'Data',
    needs: 'table.list',
    load: async () => (await import('../data/data')).Data,
  },
  {
    name: 'files',
    title: 'Files',
    icon: 'files',
    letter: 'f',
    group: 'Data',
    needs: 'blob.list',
    load: async () => (await import('../files/files')).Files,
  },
  {
    name: 'people',
    title: 'People',
    icon: 'people',
    letter: 'p',
    group: 'People',
    needs: 'user.list',
    load: async () => (await import('../people/people')).People,
  },
  {
    name: 'sharing',
    title: 'Sharing',
    icon: 'sharing',
    letter: 's',
    group: 'People',
    needs: 'object.list',
    load: async () => (await import('../sharing/sharing')).Sharing,
  },
  {
    name: 'see-as',
    title: 'See as',
    icon: 'eye',
    letter: 'a',
    group: 'People',
    needs: 'object.listAs',
    load: async () => (await import('../see-as/see-as')).SeeAs,
  },
  {
    name: 'jobs',
    title: 'Jobs',
    icon: 'jobs',
    letter: 'j',
    group: 'Run',
    needs: 'job.list',
    load: async () => (await import('../jobs/jobs')).Jobs,
  },
  {
    name: 'database',
    title: 'Database',
    icon: 'database',
    letter: 'b',
    group: 'Run',
    needs: 'origin.list',
    load: async () => (await import('../base/database')).Database,
  },
  {
    name: 'server',
    title: 'Server',
    icon: 'server',
    letter: 'v',
    group: 'Run',
    needs: 'status',
    load: async () => (await import('../machine/server')).Server,
  },
  {
    name: 'test',
    title: 'Test',
    icon: 'test',
    letter: 't',
    group: 'Run',
    needs: 'test.snapshot',
    load: async () => (await import('../test/test')).Test,
  },
]

/** The pages that this session, or one that has ended, may open: the page stays as it is behind the login. */
export function openPages(): readonly PageInfo[] {
  return PAGES.filter(({ needs }) => may(needs))
}

/** Loads the pages before they are opened, so that a server that restarts or is updated does not stop them. */
export function loadPages(): void {
  for (const page of openPages()) page.load().catch(() => undefined)
}
