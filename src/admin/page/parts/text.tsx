import { visible } from './visible'

const MOST = 240

/** The beginning of a text of others, for a place that holds text alone. */
export function shortText(text: string, most = MOST): string {
  return visible(text.length > most ? `${text.slice(0, most)}…` : text)
}

/** Text of others, such as a key or a name, in its own direction, with all of its characters visible. */
export function Text({ text, most = MOST }: { text: string; most?: number }) {
  if (text === '') return <span class="v-null">empty</span>
  return <bdi>{shortText(text, most)}</bdi>
}
