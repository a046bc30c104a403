import { requireWriter } from '../../domain/access/actor'
import { DOORS } from '../../domain/access/door'
import type { SendInvitation } from '../../domain/rows/invitation'
import { ROW_RULES, rowRulesWith } from '../../domain/rows/row-rules'
import { hasCriteria } from '../../domain/sync/candidates'
import { markedTables, textsDeclared } from '../../domain/sync/declared'
import type { Database } from '../../domain/store/store'
import type { Pull } from '../../domain/sync/answer-plan'
import { type AnswerPart, beginAnswer, type BegunAnswer } from '../../domain/sync/pull'
import { readSyncBody, readSyncRequest } from '../../domain/sync/read-request'
import { movedBy, type SyncRequest } from '../../domain/sync/request'
import { isFirstSync, storeRequest } from '../../domain/sync/sync'
import { SatchelError } from '../../domain/value/error'
import { FIXED_LIMITS } from '../../domain/value/fixed-limits'
import { createCollector, createRelief } from '../../sync/garbage'
import type { Answering } from '../../sync/hub'
import { answer } from '../answer'
import { type Authorised, authorised } from '../caller'
import { pacedStream } from '../body/json-stream'
import { createSlots } from '../../limits/slots'
import { free } from '../body/buffer'
import { type BodyLimits, createBodies, type JsonReader } from '../body/body'
import { type Call, keepOpen } from '../call'
import type { HttpContext } from '../context'

/** Answers `POST /sync` of the published client add-on (protocol.md §4). */
export type AnswerSync = (request: Authorised) => Promise<Response>

/** Answers syncs without the router; undefined for all other calls. */
export function directSyncRoute(
  http: HttpContext,
  answerSync: AnswerSync,
): (call: Call) => Promise<Response> | undefined {
  return (call) => {
    const { segments, method } = call
    const isSync = segments.length === 3 && segments[2] === 'sync' && method === 'POST'
    return isSync ? authorised(http, call, DOORS.sync, answerSync, { isCounted: false }) : undefined
  }
}

/** Makes the handler of the direct route and of that of the router. */
export function createSync(http: HttpContext): AnswerSync {
  const { timeout } = http.blobs
  const bodies = createBodies(LIMITS, {
    advice: 'import a file with satchel import',
    timeout: { ...timeout, silence: Math.min(timeout.silence, MAX_SILENCE_MS) },
    ledger: http.ledger,
    name: 'sync bodies',
  })
  const reader: JsonReader<SyncRequest> = {
    small: (body) => readSyncRequest(body, http.writeLimits),
    large: (pieces, grow) => readSyncBody(pieces, http.writeLimits, grow),
  }
  const relieve = createRelief(RELIEF_BYTES)
  const streams = createSlots({ most: MAX_STREAMS, mostOfOwner: FIXED_LIMITS.streamedSyncs.most })
  const streamed = createCollector(COLLECT_AFTER_CHARACTERS)
  const countStreamed = (characters: number) => {
    if (streams.isShared) streamed(characters)
  }

  async function respond({ call, opened, actor }: Authorised): Promise<Response> {
    const isAnonymous = actor.subject === null
    // A large body, or a first sync that waits for others, takes longer.
    using stack = new DisposableStack()
    stack.use(keepOpen(call))
    stack.use(await http.hosts.hold(opened.name))
    // Before the body is read: a request that waits takes no memory for it.
    const refund = await http.limits.firstSync(call, opened, actor.subject)
    if (!isAnonymous) {
      await opened.database.read((tx) => requireWriter(tx, actor, opened.clock.now()))
    }
    const maxBytes = isAnonymous ? READ_ONLY_BYTES : LIMITS.bytes
    const source = { scratch: opened.scratch, maxBytes, reader }
    const stored = await bodies.json(call, source, (request, bytes) =>
      store({ call, opened, actor, refund, bytes }, movedBy(request, opened.lead()), stack),
    )
    const { first, rest } = await begin(stored, async () => {
      const yields = () => call.reservation.yields()
      const { caller: owner, sent } = call
      const comeBack = streams.hasShare(owner) ? stored.answering.stepAside() : undefined
      stack.defer(await streams.take({ owner, signal: sent.signal, yields }))
      comeBack?.()
    })
    if (rest === undefined) return answer(call, first.text)
    const parts = notingEach(stored, rest)
    stack.defer(() => void parts[Symbol.asyncDispose]())
    const held = stack.move()
    const body = pacedStream(bytesOf(first, parts, countStreamed), {
      failed: (error) => http.failure(call.id, error),
      reservation: call.reservation,
      released: () => held.dispose(),
    })
    return answer(call, body)
  }

  /** Stores the changes of the request. The live connections of its client rest until `stack` is disposed. */
  async function store(
    { call, opened, actor, refund, bytes }: Counted,
    request: SyncRequest,
    stack: DisposableStack,
  ): Promise<StoredRequest> {
    const { subject } = actor
    const database = opened.through('sync')
    http.syncs.pulls += 1
    if (request.transactions.length > 0) http.syncs.pushes += 1
    const isFirst = isFirstSync(request, subject)
    if (!isFirst) {
      refund()
      http.limits.sync(call, opened, subject, request.clientIdentity)
    }
    const sendInvitation: SendInvitation = (tx, facts) =>
      opened.invitations.send(tx, facts, call.sent.headers.get('origin'))
    const isPatient = () => isFirst && !call.sent.signal.aborted
    const answering = stack.use(http.live.answering(opened, request.clientIdentity, subject))
    const pull = await patiently(isPatient, () =>
      storeRequest(database, {
        actor,
        request,
        now: opened.clock.now(),
        rulesByTable: mayInvite(request) ? rowRulesWith(sendInvitation) : ROW_RULES,
        limits: http.writeLimits,
        ...(mayTakeLong(request) ? { signal: call.sent.signal } : {}),
        ...(bytes > MIN_LARGE_REQUEST_BYTES ? { relieve } : {}),
        contents: opened.blobs,
        refused: (rows) =>
          http.rejected(
            { requestId: call.id, database: opened.name, subject, device: request.clientIdentity },
            rows,
          ),
        report: (damage) => http.failure(call.id, damage),
      }),
    )
    return { database, pull, answering, isPatient }
  }

  /** Reads the first part of the answer; `enter` is called, once, before the first of several. */
  async function begin(stored: StoredRequest, enter: () => Promise<void>): Promise<BegunAnswer> {
    const { database, pull, answering, isPatient } = stored
    let entered: Promise<void> | undefined
    const untilItsTurn = () => (entered ??= enter())
    using undo = new DisposableStack()
    undo.use(answering)
    const begun = await patiently(isPatient, () => beginAnswer(database, { ...pull, untilItsTurn }))
    noteAnswered(stored, begun.first)
    undo.move()
    return begun
  }

  return respond
}

/**
 * A client sends all its changes at once: it cannot make a rejected request smaller. Their values are
 * checked where they are stored: a deep one rejects only its transaction.
 */
const LIMITS: BodyLimits = {
  bytes: FIXED_LIMITS.syncBytes.most,
  depth: 1_000,
  values: FIXED_LIMITS.syncValues.most,
}
/** A body may be silent for as long as a connection may be idle. */
const MAX_SILENCE_MS = 30_000
/** The limit for callers who send no changes, in bytes. */
const READ_ONLY_BYTES = 256 * 1024

/** How many answers are streamed at once; others wait for their turn. */
const MAX_STREAMS = 8
/** While several are streamed, garbage is collected after this many characters. */
const COLLECT_AFTER_CHARACTERS = 12 * 1024 * 1024
/** The size of a request whose units leave much garbage, in bytes. */
const MIN_LARGE_REQUEST_BYTES = 1024 * 1024
/** While these are executed, garbage is collected when the process has grown by so many bytes. */
const RELIEF_BYTES = 96 * 1024 * 1024
/** How often, and how long after each other, a first sync is tried while the server is busy. */
const MAX_TRIES = 20
const PAUSE_MS = 1_000

/** A signal takes time to make, and less is stored before a disconnect would be noticed. */
function mayTakeLong({ transactions }: SyncRequest): boolean {
  let keys = 0
  for (const transaction of transactions) {
    if (hasCriteria(transaction)) return true
    for (const operation of transaction.operations) keys += 1 + operation.keys.length
    if (keys > FEW_KEYS) return true
  }
  return false
}

const FEW_KEYS = 100

function mayInvite({ transactions }: SyncRequest): boolean {
  return transactions.some(({ operations }) => operations.some(({ table }) => table === 'members'))
}

/** Clients do not repeat a first sync that fails (protocol.md Appendix C.1). */
async function patiently<T>(isPatient: () => boolean, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const isBusy = error instanceof SatchelError && error.code === 'BUSY'
      if (!isBusy || tries === MAX_TRIES || !isPatient()) throw error
      await Bun.sleep(PAUSE_MS)
    }
  }
}

const encoder = new TextEncoder()

/** A request that was counted as a first sync. */
interface Counted extends Authorised {
  /** Takes the count back. */
  readonly refund: () => void
  /** The size of its body. */
  readonly bytes: number
}

/** A request whose changes are stored, and whose answer is missing. */
interface StoredRequest {
  readonly database: Database
  readonly pull: Pull
  readonly answering: Answering
  /** True while a busy server is tried again. */
  readonly isPatient: () => boolean
}

/** The parts of an answer; the last one is not followed by another call. */
interface Parts extends AsyncDisposable {
  next(): Promise<AnswerPart | undefined>
}

/** The live connections of the client rest until its answer is complete, and go on from there. */
function noteAnswered({ pull: { request }, answering }: StoredRequest, { end }: AnswerPart): void {
  if (end === undefined) return
  answering.answered({ ...end, tables: markedTables(request), texts: textsDeclared(request) })
  answering[Symbol.dispose]()
}

function notingEach(stored: StoredRequest, rest: AsyncGenerator<AnswerPart, void>): Parts {
  return {
    async next() {
      const { value: part } = await rest.next()
      if (part !== undefined) noteAnswered(stored, part)
      return part === undefined ? undefined : part
    },
    async [Symbol.asyncDispose]() {
      // After a read that is under way.
      await rest.return(undefined)
      stored.answering[Symbol.dispose]()
    },
  }
}

/**
 * The parts of an answer, the first of which is there; `made` is called with the length of each. The
 * bytes of a part are freed when the network has accepted them.
 */
function bytesOf(
  first: AnswerPart,
  parts: Parts,
  made: (characters: number) => void,
): () => Promise<Uint8Array | undefined> {
  let next: AnswerPart | undefined = first
  let accepted: Uint8Array | undefined
  return async () => {
    if (accepted !== undefined) free(accepted)
    const part = next ?? (await parts.next())
    next = undefined
    made(part?.text.length ?? 0)
    accepted = part && encoder.encode(part.text)
    return accepted
  }
}
