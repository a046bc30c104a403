#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import process from 'node:process'
import { findExecutable } from './platform.js'

// The command `satchel` of the npm package: runs the executable for this machine.

const PARENT_EVERY_MS = 200
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function launch(args: readonly string[]): void {
  const child = spawn(findExecutable(), args, { stdio: 'inherit' })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(error.message))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 15)
    clearInterval(timer)
    for (const each of SIGNALS) process.removeAllListeners(each)
  })
  // A server for tests ends with the process that started the launcher, and with the launcher itself.
  const parent = process.ppid
  const isForTests = args.includes('--test')
  const timer = setInterval(() => {
    if (isForTests && process.ppid !== parent) child.kill('SIGTERM')
  }, PARENT_EVERY_MS)
  timer.unref()
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
