import { InvalidArgumentError } from '@commander-js/extra-typings'

/** `A,B` or `A B`; an empty text is no item. */
export function list(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '')
}

/** Throws `InvalidArgumentError` for what is no whole number from `least`. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least) return number
    throw new InvalidArgumentError(`a whole number from ${least} is needed.`)
  }
}

/** Throws `InvalidArgumentError` for what is no number from 0. */
export function number(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('a number is needed.')
}
