import type { RulesByTable } from '../object/writing'
import { complementInvitation, type SendInvitation } from './invitation'
import { MEMBER_RULES } from './member-rows'
import { IMPORTED_REALM_RULES, REALM_RULES } from './realm-rows'
import { ROLE_RULES } from './role-rows'

/** The rules of the built-in tables; with these alone rows of `members` send no mail. */
export const ROW_RULES: RulesByTable = new Map([
  ['realms', REALM_RULES],
  ['members', MEMBER_RULES],
  ['roles', ROLE_RULES],
])

/** The rules of an import: `ensureOwnerRows` follows when the last row is there. */
export const IMPORT_RULES: RulesByTable = new Map([...ROW_RULES, ['realms', IMPORTED_REALM_RULES]])

/** `ROW_RULES` with a mail for each member row that asks for one. */
export function rowRulesWith(sendInvitation: SendInvitation): RulesByTable {
  return new Map([
    ...ROW_RULES,
    [
      'members',
      {
        ...MEMBER_RULES,
        complement: (writing, placement) =>
          complementInvitation(writing, placement, sendInvitation),
      },
    ],
  ])
}
