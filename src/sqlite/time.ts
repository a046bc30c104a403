import type { TimeReader, TimeWriter } from '../domain/store/people'
import type { Scope, WriteScope } from './scope'

export function timeReader(scope: Scope): TimeReader {
  const select = 'SELECT latest_time AS time FROM database'
  return {
    latest: () => scope.connection.prepare<{ time: number }>(select).get()!.time,
  }
}

export function timeWriter(scope: WriteScope): TimeWriter {
  return {
    ...timeReader(scope),
    keep(time) {
      scope.connection.prepare('UPDATE database SET latest_time = ?').run(time)
    },
  }
}
