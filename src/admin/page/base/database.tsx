import { PageHead } from '../parts/page-head'
import { Copy } from '../parts/copy'
import { may } from '../server/session'
import { urlOf } from '../shell/databases'
import { database } from '../shell/route'
import { Clients } from './clients'
import { DeleteDatabase } from './delete-database'
import { MailRoute } from './mail-route'
import { Origins } from './origins'
import { Policy } from './policy'
import { Providers } from './providers'
import { Schema } from './schema'
import { Templates } from './templates'
import { Verify } from './verify'

/** The settings of the database: who may use it, how people log in, and its tables. */
export function Database() {
  const url = urlOf(database.value)
  return (
    <>
      <PageHead
        title="Database"
        about={
          <span class="address">
            <code>{url}</code>
            <Copy text={url} label="Copy the address" />
          </span>
        }
      />
      <div class="body columns">
        {may('origin.list') && <Origins />}
        {may('client.list') && <Clients />}
        {may('policy.show') && <Policy />}
        {may('provider.list') && <Providers />}
        {may('mail.show') && <MailRoute />}
        {may('template.list') && <Templates />}
        {may('schema.show') && <Schema />}
        {may('verify') && <Verify />}
        {may('db.delete') && <DeleteDatabase />}
      </div>
    </>
  )
}
