import { DATA_CHECKS } from './data-checks'
import type { Facts } from './facts'
import type { Check, Finding } from './finding'
import { MACHINE_CHECKS } from './machine-checks'
import { NETWORK_CHECKS } from './network-checks'

/** All checks by name, in the order of their findings. */
export const CHECKS: Readonly<Record<string, Check>> = {
  ...MACHINE_CHECKS,
  ...NETWORK_CHECKS,
  ...DATA_CHECKS,
}

/** The findings of all checks, with their names. */
export function examine(facts: Facts): (Finding & { readonly check: string })[] {
  return Object.entries(CHECKS).flatMap(([name, check]) => {
    const finding = check.find(facts)
    return finding === null ? [] : [{ check: name, ...finding }]
  })
}
