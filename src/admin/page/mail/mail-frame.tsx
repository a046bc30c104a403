import { useEffect, useState } from 'preact/hooks'
import { mailFrame } from '../server/download'
import { tellError } from '../shell/toasts'

/** The HTML of a mail, which the server sends without scripts and without the rights of this page. */
export function MailFrame({ operation, input }: { operation: string; input: object }) {
  const [address, setAddress] = useState<string | null>(null)
  const key = JSON.stringify(input)
  useEffect(() => {
    let isWanted = true
    const show = async () => {
      const found = await mailFrame(operation, input)
      if (isWanted) setAddress(found)
    }
    show().catch(tellError)
    return () => {
      isWanted = false
    }
  }, [operation, key])
  if (address === null) return <div class="mail-frame" aria-busy="true" />
  return <iframe class="mail-frame" title="The mail as it is read" sandbox="" src={address} />
}
