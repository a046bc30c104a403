import { test } from 'bun:test'
import { expectHistories, PATIENCE_MS, TITLE } from './parts'

test(TITLE, () => expectHistories(4), PATIENCE_MS)
