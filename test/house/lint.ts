import process from 'node:process'
import { findUntested } from './checklist'
import { findBadTests } from './tests'
import { findWords } from './words'

/** The part of `bun run lint` that reads text: the rules of this project that no linter knows. */
const faults = [...findWords(), ...(await findBadTests()), ...(await findUntested())]
process.stderr.write(faults.map((fault) => `${fault}\n`).join(''))
process.exitCode = faults.length > 0 ? 1 : 0
