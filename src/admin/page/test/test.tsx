import { Empty } from '../parts/empty'
import { PageHead } from '../parts/page-head'
import { ClockBox } from './clock-box'
import { FaultBox } from './fault-box'
import { LoginBox } from './login-box'
import { Snapshots } from './snapshots'
import { may } from '../server/session'

/** Test mode: the clock, snapshots, faults, and logins without a code. */
export function Test() {
  return (
    <>
      <PageHead title="Test" about="Test mode: everything here is forgotten when the server ends" />
      {may('test.clock') ? (
        <div class="body columns">
          <ClockBox />
          <Snapshots />
          <FaultBox />
          <LoginBox />
        </div>
      ) : (
        <Empty icon="test" title="This login may not change anything">
          Log in without <code>--read-only</code>.
        </Empty>
      )}
    </>
  )
}
