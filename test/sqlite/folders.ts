/**
 * Copies a folder as it is, like a crash or a `cp` of the operator would find it. Another process
 * does it: closing a descriptor of a database file would drop the locks this one holds.
 */
export function copyFolder(from: string, to: string): void {
  const { success, stderr } = Bun.spawnSync(['cp', '-r', from, to])
  if (!success) throw new Error(stderr.toString())
}
