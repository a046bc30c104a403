/** Gives the browser a file to keep. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type }))
  openDownload(address, name)
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Opens an address whose answer is a file. */
export function openDownload(address: string, name = ''): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
