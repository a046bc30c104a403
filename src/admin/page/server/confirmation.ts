import { signal } from '@preact/signals'

/** Answers the question for a fresh login, while it is asked. */
export const pendingConfirmation = signal<((isConfirmed: boolean) => void) | null>(null)

/** Asks for a fresh login. Resolves to false when the person declines. */
export function confirm(): Promise<boolean> {
  pendingConfirmation.value?.(false)
  return new Promise((resolve) => {
    pendingConfirmation.value = (isConfirmed) => {
      pendingConfirmation.value = null
      resolve(isConfirmed)
    }
  })
}
