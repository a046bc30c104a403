#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import process from 'node:process'
import { findExecutable } from './platform.js'

// The command `satchel` of the npm package: runs the executable for this machine.

const PARENT_EVERY_MS = 200
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/**
 * A terminal sends these to the executable too, whatever its output goes to: a second one would abort it. One
 * that is sent to the launcher alone is not passed on where there is a terminal; SIGTERM always is.
 */
const AT_TERMINAL: ReadonlySet<string> = new Set(['SIGINT', 'SIGHUP'])

function launch(args: readonly string[]): void {
  const child = spawn(findExecutable(), args, { stdio: 'inherit' })
  const isAtTerminal = hasControllingTerminal()
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (!isAtTerminal || !AT_TERMINAL.has(signal)) child.kill(signal)
    })
  }
  child.on('error', (error) => fail(error.message))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 15)
    clearInterval(timer)
    for (const each of SIGNALS) process.removeAllListeners(each)
  })
  // A server for tests ends with the process that started the launcher, and with the launcher itself.
  const chain = args.includes('--test') ? chainAbove(process.ppid) : []
  const timer = setInterval(() => {
    if (isBroken(chain)) child.kill('SIGTERM')
  }, PARENT_EVERY_MS)
  timer.unref()
}

function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** npx and the shell that it starts stay when the process that started them is gone. */
const BETWEEN = /(?:^|[\s/])(?:npm|npx|npx-cli\.js|npm-cli\.js|sh|bash)(?:\s|$)/
const MAX_LINKS = 5

/** The parent and, above npx, its parents up to the process that started npx. */
function chainAbove(parent: number): readonly number[] {
  const chain = [parent]
  for (let pid = parent; chain.length < MAX_LINKS && isBetween(pid);) {
    pid = parentOf(pid) ?? 0
    chain.push(pid)
  }
  return chain
}

function isBroken([parent, ...above]: readonly number[]): boolean {
  if (parent === undefined) return false
  if (process.ppid !== parent) return true
  const children = [parent, ...above]
  return above.some((pid, at) => parentOf(children[at] ?? 0) !== pid)
}

/** Known on Linux only; npm sets the variable for the programs that it starts. */
function isBetween(pid: number): boolean {
  if (process.env['npm_execpath'] === undefined) return false
  const command = read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ')
  return command !== undefined && BETWEEN.test(command)
}

function parentOf(pid: number): number | undefined {
  const found = /^PPid:\s*(\d+)$/m.exec(read(`/proc/${pid}/status`) ?? '')
  return found === null ? undefined : Number(found[1])
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function fail(message: string): void {
  process.stderr.write(`satchel: ${message}\n`)
  process.exitCode = 1
}

try {
  launch(process.argv.slice(2))
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}
