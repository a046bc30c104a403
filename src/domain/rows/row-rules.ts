import type { RowRules } from '../object/writing'
import { MEMBER_RULES } from './member-rows'
import { REALM_RULES } from './realm-rows'
import { ROLE_RULES } from './role-rows'

/** The built-in tables and what is special about each. */
export const ROW_RULES: ReadonlyMap<string, RowRules> = new Map([
  ['realms', REALM_RULES],
  ['members', MEMBER_RULES],
  ['roles', ROLE_RULES],
])
