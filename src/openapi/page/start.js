const place = document.getElementById('interface')

const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

// Swagger UI skips the second level of headings, its introduction is in no landmark, and its wide examples
// scroll by mouse only.
new MutationObserver(() => {
  for (const heading of place.querySelectorAll('.opblock-tag, .models h4')) heading.ariaLevel = '2'
  for (const introduction of place.querySelectorAll('.information-container')) {
    Object.assign(introduction, { role: 'region', ariaLabel: 'Introduction' })
  }
  for (const example of place.querySelectorAll(':is(.markdown, .renderedMarkdown) pre')) {
    example.tabIndex = 0
  }
}).observe(place, { childList: true, subtree: true })

/** A link inside the button of an operation could not be reached by keyboard. */
const accessible = ({ React }) => ({
  components: {
    DeepLink: ({ text }) => React.createElement('span', null, text),
  },
  wrapComponents: {
    // The field of the bearer token is the first, and the one that is used most.
    authorizationPopup: (Original) =>
      class extends React.Component {
        componentDidMount() {
          place.querySelector('.auth-container input')?.focus()
        }
        render() {
          return React.createElement(Original, this.props)
        }
      },
  },
})

SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'example',
  displayRequestDuration: true,
  plugins: [accessible],
  // Nothing is asked of other hosts.
  validatorUrl: null,
})
