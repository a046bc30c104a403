/** The platforms with an executable; Linux on x64 without the instructions of newer processors. */
export const PLATFORMS = {
  'linux-x64': { target: 'bun-linux-x64-baseline', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-x64-musl': {
    target: 'bun-linux-x64-baseline-musl',
    os: 'linux',
    cpu: 'x64',
    libc: 'musl',
  },
  'linux-arm64': { target: 'bun-linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'darwin-x64': { target: 'bun-darwin-x64', os: 'darwin', cpu: 'x64', libc: null },
  'darwin-arm64': { target: 'bun-darwin-arm64', os: 'darwin', cpu: 'arm64', libc: null },
} as const

export type Platform = keyof typeof PLATFORMS
export const ALL_PLATFORMS = Object.keys(PLATFORMS) as Platform[]

/** Windows lacks what the server keeps data with: folders that are synced, and files with an owner and a mode. */
const WITHOUT_WINDOWS =
  'Windows has no executable: it cannot sync folders and keeps no modes of files, on which durability and private files depend; use that for linux-x64 in WSL 2'

/** Throws an error that names the platforms. */
export function findPlatform(name: string): Platform {
  const found = ALL_PLATFORMS.find((platform) => platform === name)
  if (found !== undefined) return found
  if (name.startsWith('win')) throw new Error(WITHOUT_WINDOWS)
  throw new Error(`${name} is no platform: there are ${ALL_PLATFORMS.join(', ')}`)
}
