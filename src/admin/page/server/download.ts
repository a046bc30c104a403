import { openDownload } from '../parts/save-file'
import { confirm } from './confirmation'
import { CONFIRMATION_NEEDED, Refusal } from './refusal'
import { BASE, post, request } from './request'

/** Saves the output of an operation as a file with this name. Throws a `Refusal`. */
export async function download(operation: string, input: object, name: string): Promise<void> {
  const ticket = await ticketFor(operation, input, name)
  openDownload(`${BASE}/file/${ticket}`, name)
}

/** The bytes of the output of an operation. Throws a `Refusal`. */
export async function fetchFile(operation: string, input: object): Promise<ArrayBuffer> {
  const ticket = await ticketFor(operation, input, 'file')
  return await (await request(`file/${ticket}`)).arrayBuffer()
}

/** The address of the HTML of the mail that an operation answers with, which is good once. */
export async function mailFrame(operation: string, input: object): Promise<string> {
  return `${BASE}/mail/${await ticketFor(operation, input, 'mail')}`
}

async function ticketFor(operation: string, input: object, name: string): Promise<string> {
  const ask = async () => {
    const answer = await post('ticket', { operation, input, name })
    return ((await answer.json()) as { ticket: string }).ticket
  }
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== CONFIRMATION_NEEDED) throw error
    if (!(await confirm())) throw error
    return await ask()
  }
}
