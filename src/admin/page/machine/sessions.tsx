import { Ago } from '../parts/ago'
import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { tellDone, tellError } from '../shell/toasts'

interface LoginInfo {
  readonly id: string
  readonly role: string
  readonly database: string | null
  readonly email: string | null
  readonly isReadOnly: boolean
  readonly address: string
  readonly began: number
  readonly ends: number
}

/** The logins to this page. */
export function Sessions() {
  const { value, error, reload } = useOperation<readonly LoginInfo[]>('session.list', {})
  const end = async (id: string) => {
    await call('session.revoke', { id })
    tellDone('The login has ended')
    reload()
  }
  return (
    <div class="body narrow">
      <Failure error={error} onAgain={reload} />
      {value !== undefined && (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">Login</th>
              <th scope="col">Rights</th>
              <th scope="col">From</th>
              <th scope="col" class="wide-only">
                Began
              </th>
              <th scope="col">Ends</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value.map(({ id, role, database, email, isReadOnly: reads, address, began, ends }) => (
              <tr key={id}>
                <th scope="row">
                  {email === null ? role : <Text text={email} />}{' '}
                  <span class="soft small mono wide-only">{id}</span>
                </th>
                <td class="soft">
                  {database ?? 'all databases'}
                  {reads && ', read only'}
                </td>
                <td class="soft">{address}</td>
                <td class="soft wide-only">
                  <Ago at={began} />
                </td>
                <td class="soft">
                  <Ago at={ends} />
                </td>
                <td>
                  {may('session.revoke') && !isReadOnly.value && (
                    <button class="small-button" onClick={() => void end(id).catch(tellError)}>
                      End
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}
