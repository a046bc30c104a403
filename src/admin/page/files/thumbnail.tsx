import { useEffect, useState } from 'preact/hooks'
import { fetchFile } from '../server/download'
import { database } from '../shell/route'
import type { BlobInfo } from './blob'

/** Types whose pictures a browser shows without running anything. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp|avif)$/
const MOST_BYTES = 10_000_000

/** The picture of a blob, if it is one. */
export function Thumbnail({ blob: { ref, type, size } }: { blob: BlobInfo }) {
  const [address, setAddress] = useState<string | null>(null)
  const isShown = PICTURES.test(type) && size <= MOST_BYTES
  useEffect(() => {
    if (!isShown) return undefined
    let made: string | undefined
    let isGone = false
    const load = async () => {
      const bytes = await fetchFile('blob.read', { database: database.value, blob: ref })
      if (isGone) return
      made = URL.createObjectURL(new Blob([bytes], { type }))
      setAddress(made)
    }
    load().catch(() => undefined)
    return () => {
      isGone = true
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [ref, isShown])
  if (!isShown) return null
  return <div class="thumbnail">{address !== null && <img src={address} alt="" />}</div>
}
