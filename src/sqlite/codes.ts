import { and, desc, eq, gt, lt } from 'drizzle-orm'
import type { CodeReader, CodeWriter } from '../domain/store/people'
import { codes } from './schema'
import type { Scope, WriteScope } from './scope'

export function codeReader(scope: Scope): CodeReader {
  return {
    find: (id) => scope.connection.orm.select().from(codes).where(eq(codes.id, id)).get(),
    ofSubject: (subject, since) =>
      scope.connection.orm
        .select()
        .from(codes)
        .where(and(eq(codes.subject, subject), gt(codes.created, since)))
        .orderBy(desc(codes.created))
        .all(),
  }
}

export function codeWriter(scope: WriteScope): CodeWriter {
  return {
    ...codeReader(scope),
    put(code) {
      scope.connection.orm
        .insert(codes)
        .values(code)
        .onConflictDoUpdate({ target: codes.id, set: code })
        .run()
    },
    removeOfSubject(subject) {
      scope.connection.orm.delete(codes).where(eq(codes.subject, subject)).run()
    },
    prune(before) {
      scope.connection.orm.delete(codes).where(lt(codes.expires, before)).run()
    },
  }
}
