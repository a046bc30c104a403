import { describe, expect, test } from 'bun:test'
import { invitationPage } from '../../../src/http/pages/invitation-page'
import { INVITATION_PAGE } from '../../auth/invitation-setup'

describe('the page of an invitation that was answered', () => {
  test('leads its person on', () => {
    const html = invitationPage({ ...INVITATION_PAGE, state: 'accepted' })
    expect(textOf(html)).toContain('Groceries is shared with you as bob@example.com.')
    expect(textOf(html)).toContain('Log in there as bob@example.com.')
    expect(html).toContain('href="https://app.example.com/"')
  })

  test.each(['https://app.example.com/', null])(
    'with another account says that it was one, and offers nothing that is refused: %p',
    (application) => {
      const shown = { ...INVITATION_PAGE, application, isAnothers: true }
      const accepted = invitationPage({ ...shown, state: 'accepted' })
      expect(textOf(accepted)).toContain('Groceries is shared with a different account than')
      const rejected = invitationPage({ ...shown, state: 'rejected' })
      expect(textOf(rejected)).toContain('Groceries was declined with a different account than')
      for (const html of [accepted, rejected]) {
        expect(textOf(html)).toContain('the one of bob@example.com.')
        expect(html.includes('href="https://app.example.com/"')).toBe(application !== null)
        expect(textOf(html)).not.toMatch(/with you|Log in there as|log in as|You /)
        expect(html).not.toContain('<form')
      }
    },
  )
})

function textOf(html: string): string {
  return html.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, '').replaceAll(/\s+/g, ' ')
}
