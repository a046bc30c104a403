import { effect, signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const STORED = 'satchel-admin-theme'

export const theme = signal<Theme>(readStored())

/** Shows the chosen colours from now on. */
export function keepTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
    localStorage.setItem(STORED, theme.value)
  })
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system'
}

function readStored(): Theme {
  const stored = localStorage.getItem(STORED)
  return THEMES.find((each) => each === stored) ?? 'system'
}
