import { render } from 'preact'
import { App } from './shell/app'
import { keepTheme } from './shell/theme'
import { resume } from './server/session'

keepTheme()
render(<App />, document.body)
void resume()
