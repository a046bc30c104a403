import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import process from 'node:process'
import { version } from '../../package.json'
import { temporaryFolder } from '../setup'
import { pack } from './archive'
import { makeData } from './generate'
import { archiveOf } from './releases'

// The part of `freeze.ts` that runs as the version that it has written.
using folder = temporaryFolder()
const bytes = await pack(folder.path, await makeData(folder.path))
writeFileSync(archiveOf(version), bytes)
process.stdout.write(`Made ${basename(archiveOf(version))}, ${bytes.length} bytes\n`)
