import { SatchelError, quoted, unprocessable } from './error'
import { isNameText } from './key'
import { isRevivedType, typedProblem } from './typed-value'

/** An object as it came from outside, after `requireWireObject`. */
export type WireObject = Record<string, unknown>

/**
 * Makes sure that a parsed object can be stored as it is (design.md §3 `value`, §6): names and numbers
 * survive, raw keys do not begin with a single `$`, clients can read its typed values. A
 * `{"$t":"undefined"}` inside an array becomes null, in place, because clients cannot read it there
 * (protocol.md §1.1). Throws `UNPROCESSABLE` with the path. The nesting was limited when the body was
 * read.
 */
export function requireWireObject(value: unknown, path: string): WireObject {
  if (!isRecord(value)) {
    throw unprocessable(`${describe(path)} must be an object`, path)
  }
  checkMembers(value, path)
  const type = getOwn(value, '$t')
  if (typeof type === 'string' && isRevivedType(type)) {
    throw refuse(inside(path, '$t'), `is ${quoted(type)}: to clients the object is no object`)
  }
  return value
}

/** True for a JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads a stored value, which was an object when it was written. */
export function parseStored(text: string): WireObject {
  return JSON.parse(text) as WireObject
}

/** Sets an own property, even for names with a special meaning such as `__proto__`. */
export function setOwn(object: WireObject, name: string, value: unknown): void {
  if (name !== '__proto__') {
    object[name] = value
    return
  }
  const descriptor = { value, writable: true, enumerable: true, configurable: true }
  Object.defineProperty(object, name, descriptor)
}

export function getOwn(object: WireObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * True for what a row leaves out: nothing, null, or an undefined as the clients send it
 * (protocol.md §1.2).
 */
export function isAbsent(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    (isRecord(value) && getOwn(value, '$t') === 'undefined')
  )
}

/** The value of a property; undefined when `isAbsent`. */
export function presentIn(object: WireObject, name: string): unknown {
  const value = getOwn(object, name)
  return isAbsent(value) ? undefined : value
}

/** The names of the properties in which two objects of JSON differ. */
export function changedProperties(before: WireObject, after: WireObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => {
    const [one, other] = [getOwn(before, name), getOwn(after, name)]
    if (Object.hasOwn(before, name) !== Object.hasOwn(after, name)) return true
    return !isSame(one, other)
  })
}

function checkMembers(object: WireObject, path: string): void {
  let isTyped = false
  for (const name of Object.keys(object)) {
    const value = object[name]
    if (!isNameText(name)) {
      throw refuse(
        inside(path, name),
        'has a name that is not well-formed Unicode or has U+0000 in it',
      )
    }
    const first = name.charCodeAt(0)
    if (first === DOLLAR && name.charCodeAt(1) !== DOLLAR) {
      checkDollar(name, value, path)
      isTyped = true
    } else if (first === AT && name === OPERATION) {
      throw refuse(inside(path, name), 'is an operation of sync and cannot be stored')
    }
    switch (typeof value) {
      case 'number':
        checkNumber(value, path, name)
        break
      case 'object':
        if (Array.isArray(value)) checkElements(value, inside(path, name))
        else if (value !== null) checkMembers(value as WireObject, inside(path, name))
        break
      default:
    }
  }
  if (isTyped) checkTyped(object, path)
}

const DOLLAR = 36
const AT = 64
/** How the add-on writes an operation on a property (protocol.md §4.6). */
const OPERATION = '@@propmod'

/** After its members: an undefined element is null by now. */
function checkTyped(object: WireObject, path: string): void {
  const type = String(object['$t'])
  const problem = typedProblem(type, object)
  if (problem !== undefined) throw refuse(path, `of type ${quoted(type)} ${problem}`)
}

function checkElements(elements: unknown[], path: string): void {
  for (let position = 0; position < elements.length; position += 1) {
    const value = elements[position]
    if (typeof value === 'number') checkNumber(value, path, position)
    else if (Array.isArray(value)) checkElements(value, `${path}.${position}`)
    else if (isRecord(value)) {
      if (getOwn(value, '$t') === 'undefined') elements[position] = null
      else checkMembers(value, `${path}.${position}`)
    }
  }
}

function inside(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function checkNumber(value: number, path: string, name: string | number): void {
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return
  throw refuse(
    inside(path, String(name)),
    'is a number that cannot be stored exactly: integers are limited to ±9007199254740991; send others as {"$t":"bigint","v":"…"} or a string',
  )
}

function checkDollar(name: string, value: unknown, path: string): void {
  if (name === '$t' && typeof value === 'string') return
  throw unprocessable(
    `The property ${quoted(name)}${path === '' ? '' : ` in ${quoted(path)}`} begins with a single $: write ${quoted(`$${name}`)}`,
    name.slice(0, 100),
  )
}

function refuse(path: string, problem: string): SatchelError {
  const reason = path.slice(0, 100)
  return unprocessable(`${describe(path)} ${problem}`, reason)
}

function describe(path: string): string {
  return path === '' ? 'The object' : quoted(path)
}

/** Whether two values of JSON are equal; the order of properties does not count. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false
    return one.every((element, at) => isSame(element, other[at]))
  }
  if (!isRecord(one) || !isRecord(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  )
}
