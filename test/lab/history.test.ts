import { expect, test } from 'bun:test'
import { createHistory } from './history'

test('a history tells lost, invented and revived objects from uncertain ones', () => {
  const history = createHistory()
  for (const id of ['kept', 'lost', 'old', 'removed', 'back', 'open', 'undone', 'refused']) {
    history.ask(id, 1)
    if (id !== 'refused') history.answer(id, true)
  }
  history.answer('refused', false)
  history.ask('old', 2)
  history.answer('old', true)
  for (const id of ['removed', 'back']) {
    history.ask(id, null)
    history.answer(id, true)
  }
  for (const id of ['open', 'undone']) history.ask(id, 2)
  history.ask('never answered', 1)
  const sound = { kept: 1, lost: 1, old: 2, open: 2, undone: 1 }
  expect(history.acknowledged).toBe(10)
  expect(history.contradictions(new Map(Object.entries(sound)))).toEqual([])
  const { lost: _, ...rest } = sound
  const wrong = { ...rest, old: 1, back: 1, refused: 1, 'made up': 1, open: 3 }
  expect(history.contradictions(new Map(Object.entries(wrong))).toSorted()).toEqual([
    'back is 1, but gone was acknowledged',
    'lost is gone, but 1 was acknowledged',
    'made up is there, though nobody asked for it',
    'old is 1, but 2 was acknowledged',
    'open is 3, but 1 was acknowledged and 2 was under way',
    'refused is 1, but gone was acknowledged',
  ])
})
