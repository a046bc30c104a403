import axe from 'axe-core'
import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

const browser = useChromium()

test('figures are drawn from the first one on without a jump, with exact values under the pointer and in a table', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/server')
  const plots = page.locator('.plots')
  const memory = page.getByRole('figure').filter({ hasText: 'Memory' })
  // The places are there before the figures.
  await memory.waitFor()
  const before = await memory.boundingBox()
  for (let turn = 0; turn < 20; turn += 1) await fetch(`${server.main}/all/none`)
  await memory.getByText(/\d MB/).first().waitFor()
  expect(await memory.boundingBox()).toEqual(before)
  await plots.getByRole('heading', { name: 'The last 5 minutes' }).waitFor()

  const { x, y, width } = (await memory.locator('svg').boundingBox())!
  await page.mouse.move(x + width / 2, y + 20)
  await plots.locator('.plot-mark').first().waitFor({ state: 'attached' })
  expect(await plots.locator('.plot-mark').count()).toBe(7)
  expect(await plots.locator('header').textContent()).toMatch(/\d:\d\d:\d\d/)
  await page.mouse.move(0, 0)
  await plots.locator('.plot-mark').first().waitFor({ state: 'detached' })

  await plots.getByText('As a table').click()
  const row = plots.getByRole('row').nth(1)
  await row.getByText(/\d MB/).waitFor()
  expect(await row.getByRole('cell').count()).toBe(9)
  await page.evaluate(axe.source)
  for (const [width, colorScheme] of [
    [360, 'dark'],
    [1280, 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 740 })
    const violations = await page.evaluate<{ id: string }[]>(
      'axe.run().then(({ violations }) => violations)',
    )
    const overhang = await page.evaluate<number>(
      'document.documentElement.scrollWidth - innerWidth',
    )
    expect({ width, ids: violations.map(({ id }) => id), overhang }).toEqual({
      width,
      ids: [],
      overhang: 0,
    })
  }
  expect(faults).toEqual([])
})
