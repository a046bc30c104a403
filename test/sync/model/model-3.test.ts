import { test } from 'bun:test'
import { expectHistories, PATIENCE_MS, TITLE } from './parts'

test(TITLE, () => expectHistories(3), PATIENCE_MS)
