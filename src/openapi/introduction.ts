import type { Scope } from '../domain/value/scope'
import { formatTime, RATE_LIMIT_NAMES, RATE_LIMITS } from '../limits/rate-limits'
import { STATUS } from '../http/errors'
import { ERROR_CODES, MEANINGS } from './refusals'

/** What each scope lets its token do (spec.md §5.4, protocol.md §9.2). */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  ACCESS_DB: 'Read and write under the access rules of realms.',
  GLOBAL_READ: 'Read everything, whatever its realm.',
  GLOBAL_WRITE: 'Write everything, whatever its realm.',
  IMPERSONATE: 'Ask for tokens of users, with claims.',
  MANAGE_DB: 'Manage clients, origins and the schema.',
  DELETE_DB: 'Delete the database.',
}

/** What the page says before the first operation. Paragraphs are lines: the page breaks where the text does. */
export function introduction(): string {
  return [
    'Each database has its own address, `/{database}`, and there:',
    '* `POST /token` gives bearer tokens,',
    '* `/all`, `/my` and `/public` are three views on the same tables: the whole database, what the subject of the token may see, and what everybody may read; what is under `/my` is at `/{table}` too,',
    '* `/blob` holds binary data, which objects reference,',
    '* `/users` are the people who use it.',
    '',
    'The examples work in a shell with these variables, and a table that has been declared:',
    '',
    '```sh',
    'SERVER=http://127.0.0.1:7080',
    'DB=$SERVER/main',
    'TOKEN=$(satchel token --sub alice@example.com --scopes ACCESS_DB,GLOBAL_READ,GLOBAL_WRITE)',
    `echo '{"todoItems": "@id, title"}' | satchel schema push -`,
    '```',
    '',
    ...section('Scopes', [
      '| scope | its token may |',
      '|---|---|',
      ...Object.entries(SCOPE_MEANINGS).map(([scope, text]) => `| \`${scope}\` | ${text} |`),
      '',
      'A token holds only the scopes that were asked for. Who has no token or an invalid one gets 401; who lacks a scope gets 403, before the body is read.',
    ]),
    ...section('Objects and typed values', [
      'An object is a JSON object with a primary key, which the schema of its table names, and a `realmId`, which says where it belongs: a user id (the private realm of that user), `rlm-public`, or the id of a row of `realms`. Rows of `members` and `roles` say who may do what in a realm.',
      '',
      'Values that JSON has no form for are objects with `$t`, the name of their type, and `v`: a Date is `{"$t":"Date","v":"2030-01-31T12:00:00.000Z"}`. They come back as they were sent. Integers beyond ±9007199254740991 are refused: send them as `{"$t":"bigint","v":"…"}`.',
    ]),
    ...section('Headers and limits', [
      '* Every answer has an `X-Request-Id`, which is in the log of the server too.',
      '* Answers to a token are `Cache-Control: private, no-store`.',
      '* A page of another origin may call when `satchel origin add` has listed it. `Link`, `Retry-After` and the headers of limits can be read by it.',
      '* A body has at most 16 MiB, 64 levels of nesting and 1,000,000 values, a blob at most 1 GiB, unless the server was told otherwise.',
    ]),
    ...section('How often callers may call', [
      'A server limits its callers unless it was told otherwise (`satchel serve --rate-limits`); in development, on loopback without a public address, it does not. Its administrator may have chosen other limits than these:',
      '',
      ...limitTable(),
      '',
      'Blobs are not counted. Each limit is counted from the first request until its time is over. A network is an IPv4 address, or the first 64 bits of one of version 6. Answers that count tell in `Ratelimit-Limit`, `Ratelimit-Remaining` and `Ratelimit-Reset` (seconds) what is left; one too many is refused with 429 and `Retry-After`, before its body is read.',
    ]),
    ...section('Errors', [
      'The body of a refusal is `{"code", "message", "requestId"}`, with `reason` where a permission, a scope or a property was the obstacle. It never repeats what was sent.',
      '',
      '| code | status | meaning |',
      '|---|---|---|',
      ...ERROR_CODES.map((code) => `| \`${code}\` | ${STATUS[code]} | ${MEANINGS[code]} |`),
      '',
      'At `POST /token` the status of `INVALID_GRANT` is 401.',
    ]),
  ].join('\n')
}

/** The limits of a server that was not told others. */
function limitTable(): string[] {
  const rows = RATE_LIMIT_NAMES.map((name) => {
    const { count, window, counts, per } = RATE_LIMITS[name]
    return `| \`${name}\` | ${count} in ${formatTime(window)} | ${counts} | ${per} |`
  })
  return ['| name | limit | counts | for each |', '|---|---|---|---|', ...rows]
}

/** Folded until it is wanted; the empty line makes Markdown of what follows. */
function section(title: string, lines: readonly string[]): string[] {
  return [`<details><summary>${title}</summary>`, '', ...lines, '', '</details>', '']
}
