import { setupStore } from '../auth/setup'
import { describeUsers } from '../contract/users'

describeUsers(() => setupStore())
