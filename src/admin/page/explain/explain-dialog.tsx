import { Dialog } from '../parts/dialog'
import { Explain } from './explain'
import type { Question } from './question'

/** Explains a right of a user over the page. */
export function ExplainDialog({ question, onClose }: { question: Question; onClose: () => void }) {
  return (
    <Dialog title="Explain" isWide onClose={onClose}>
      <Explain question={question} />
    </Dialog>
  )
}
