import { type AnyElysia, Elysia, NotFoundError } from 'elysia'
import { callOf } from '../call'
import { behind } from '../caller'
import type { HttpContext } from '../context'
import { ALL, isTableAddress, MY, operations, PUBLIC, SHORT, type TablePaths } from './objects'

/** The tables in the views `/all`, `/my` and `/public` (spec.md §4, §4.1). */
export function objectRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'objects' })
    .use(tableRoutes(http, ALL))
    .use(tableRoutes(http, MY))
    .use(tableRoutes(http, PUBLIC))
}

/** The tables of `/my` at shorter paths. */
export function shortTableRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'short-tables' })
    .onTransform(({ request }) => {
      if (!isTableAddress(callOf(request).path)) throw new NotFoundError()
    })
    .use(tableRoutes(http, SHORT))
}

function tableRoutes(http: HttpContext, paths: TablePaths): AnyElysia {
  const routes = new Elysia({ name: `objects-${paths.name}` })
  for (const { operationId, method, path, answer } of operations(http, paths)) {
    routes.route(method, path, ...behind(http, operationId, answer))
  }
  return routes
}
