import { json, type Operations, schemaRef } from './specification'

/** How people log in with outside providers (spec.md §2.4, §4.4, protocol.md §3.2, §3.3). */
export const LOGIN_OPERATIONS: Operations = {
  listLoginProviders: {
    tag: 'login',
    caller: 'anybody',
    summary: 'List the ways to log in',
    description:
      'The login providers in the order in which they were added (`satchel provider add`), and whether people can log in with a code by e-mail.',
    curl: 'curl "$DB/auth-providers"',
    responses: {
      '200': {
        description: 'The ways to log in.',
        content: json(schemaRef('LoginProviders'), 'Google, and codes by e-mail', {
          providers: [
            {
              type: 'google',
              name: 'google',
              displayName: 'Google',
              scopes: ['openid', 'email', 'profile'],
            },
          ],
          otpEnabled: true,
        }),
      },
    },
  },
  beginLogin: {
    tag: 'login',
    caller: 'anybody',
    summary: 'Log in with a provider',
    description:
      'A page for browsers: it sends them to the login page of the provider. They come back to `redirect_uri` with one more parameter in its query, `dxc-auth`: base64url without padding of a JSON object with `provider`, `state` and either `code`, for `POST /{database}/token` with `grant_type` `authorization_code` within five minutes, or `error`.\n\nAn `error` with `access_denied` means that the person turned back; one with “email” and “verif”, that the provider did not verify their address. While it is not known where to send a browser back to, a refusal is a page, and JSON for who asks for JSON alone.',
    parameters: [
      {
        name: 'redirect_uri',
        in: 'query',
        required: true,
        description:
          'Where to go back to, with its query and its fragment: a page of a listed origin (`satchel origin add https://app.example.com`), or an address of a listed scheme (`satchel origin add myapp:`).',
        schema: { type: 'string', format: 'uri' },
        example: 'https://app.example.com/todo',
      },
      {
        name: 'scopes',
        in: 'query',
        description:
          'OAuth scopes to ask the provider for, separated by blanks, instead of those that are configured.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      '302': {
        description: 'To the provider, or back with an error when it does not answer.',
        headers: {
          Location: { description: 'Where.', schema: { type: 'string', format: 'uri' } },
          'Set-Cookie': {
            description: 'What binds the login to this browser, for half an hour.',
            schema: { type: 'string' },
          },
        },
      },
      '303': {
        description:
          'To the same route at the public address of the database, for a browser that came by another.',
        headers: {
          Location: { description: 'Where.', schema: { type: 'string', format: 'uri' } },
        },
      },
    },
    refusals: ['ORIGIN_NOT_ALLOWED', 'UNKNOWN_PROVIDER', 'NO_PUBLIC_ADDRESS'],
  },
}
