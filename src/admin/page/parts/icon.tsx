/** Outlines on a field of 16 by 16. */
const PATHS = {
  live: 'M1.5 8h3l2-5 3 10 2-5h3',
  mail: 'M2 4.2h12v8.3H2zM2.3 4.5 8 9l5.7-4.5',
  data: 'M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zm0 0v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  people:
    'M6 7.5A2.5 2.5 0 1 0 6 2.5a2.5 2.5 0 0 0 0 5zm-4.5 6c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.7a2.5 2.5 0 0 1 0 4.6M12 9.8c1.5.5 2.5 1.8 2.5 3.7',
  sharing:
    'M12 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm-8 4.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm8 4.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5.8 7l4.4-2.5M5.8 9l4.4 2.5',
  eye: 'M1 8s2.5-4.5 7-4.5S15 8 15 8s-2.5 4.5-7 4.5S1 8 1 8zm7 2a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  jobs: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4v4l2.5 2',
  files: 'M9.5 1.5h-6v13h9v-10zm0 0v3h3M6 8.5h4M6 11h4',
  database: 'M2 3h12v3.5H2zm0 6.5h12V13H2zM4.5 4.7h.1M4.5 11.2h.1M8 6.5v3',
  server: 'M2.5 2h11v5h-11zm0 7h11v5h-11zM5 4.5h.1M5 11.5h.1M8 4.5h3M8 11.5h3',
  test: 'M6 1.5h4M6.7 1.5v4.7L2.8 12.8c-.5.9 0 1.7 1 1.7h8.4c1 0 1.5-.8 1-1.7L9.3 6.2V1.5M5 9.5h6',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm3.3-1.2L14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5 6.5 12 13 4.5',
  alert: 'M8 2 1.5 13.5h13zm0 4.5v3.2M8 11.7v.1',
  copy: 'M5.5 5.5h8v8h-8zm-2 5h-1v-8h8v1',
  chevron: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4 6 8l4 4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  screen: 'M1.5 3h13v8.5h-13zM6 14h4M8 11.5V14',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M4.5 2.5v11l9-5.5z',
  plus: 'M8 3v10M3 8h10',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.7v4M9.3 6.7v4',
  edit: 'M10.5 2.5l3 3-8 8H2.5v-3z',
  filter: 'M2 3h12l-4.5 5.5V13l-3-1.5v-3z',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  external: 'M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11 9.5v4H2.5V5h4',
  key: 'M5.5 14a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zm2.5-6L13.5 2.5M11 5l2 2',
  device: 'M4.5 1.5h7v13h-7zM7 12.5h2',
  clock: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4v4l2.5 2',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  upload: 'M8 10.5v-8M4.5 6 8 2.5 11.5 6M2.5 13.5h11',
  reload: 'M13.5 8A5.5 5.5 0 1 1 11.8 4M13.5 1.8V4.7h-3',
  out: 'M6 2.5H2.5v11H6M6.5 8h8M11.5 5l3 3-3 3',
  help: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM6 6.2c0-1.2.9-1.9 2-1.9s2 .7 2 1.8c0 1.4-2 1.5-2 3M8 11.5v.1',
  link: 'M7 9.5a2.8 2.8 0 0 0 4 0l2-2a2.8 2.8 0 0 0-4-4l-.8.8M9 6.5a2.8 2.8 0 0 0-4 0l-2 2a2.8 2.8 0 0 0 4 4l.8-.8',
  bytes: 'M2.5 2.5h4v4h-4zm7 0h4v4h-4zm-7 7h4v4h-4zm7 0h4v4h-4z',
} as const

export type IconName = keyof typeof PATHS

/** A picture that only repeats what the text beside it says. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
