import { useState } from 'preact/hooks'
import { PageHead } from '../parts/page-head'
import { Segments } from '../parts/segments'
import { may } from '../server/session'
import { goTo, place } from '../shell/route'
import { Audit } from './audit'
import { Backups } from './backups'
import { Databases } from './databases'
import { Log } from './log'
import { Sessions } from './sessions'
import { Settings } from './settings'
import { Status } from './status'
import { SERVER_VIEWS } from './views'

type View = (typeof SERVER_VIEWS)[number][0]

/** The server of all databases: for the owner of the data folder. */
export function Server() {
  const views = SERVER_VIEWS.filter(([, , needs]) => may(needs))
  const [named] = place.value.rest
  const view = views.find(([name]) => name === named)?.[0] ?? views[0]?.[0] ?? 'state'
  const [about, setAbout] = useState('')
  return (
    <div class="fill">
      <PageHead title="Server" about={about}>
        <Segments
          label="View"
          choices={views.map(([name, title]) => [name, title] as const)}
          chosen={view}
          onChoose={(name: View) => goTo('server', name)}
        />
      </PageHead>
      <div class="scrolled">
        {view === 'state' && <Status onVersion={setAbout} />}
        {view === 'databases' && <Databases />}
        {view === 'backups' && <Backups />}
        {view === 'settings' && <Settings />}
        {view === 'log' && <Log />}
        {view === 'audit' && <Audit />}
        {view === 'logins' && <Sessions />}
      </div>
    </div>
  )
}
