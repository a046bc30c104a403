import { PROVIDER_TYPES } from '../../domain/provider'
import { type Schema, schemaRef } from './specification'

/** Spec.md §2.4. */
export const LOGIN_SCHEMAS: Readonly<Record<string, Schema>> = {
  LoginProviders: {
    type: 'object',
    required: ['providers', 'otpEnabled'],
    properties: {
      providers: { type: 'array', items: schemaRef('LoginProvider') },
      otpEnabled: {
        type: 'boolean',
        description: 'Whether mails with a code can be sent (`grant_type` `otp`).',
      },
    },
  },
  LoginProvider: {
    type: 'object',
    required: ['type', 'name', 'displayName', 'scopes'],
    properties: {
      type: { enum: PROVIDER_TYPES },
      name: { type: 'string', description: 'For `GET /{database}/oauth/login/{provider}`.' },
      displayName: { type: 'string', description: 'For the button.' },
      iconUrl: { type: 'string', format: 'uri' },
      scopes: {
        type: 'array',
        items: { type: 'string' },
        description: 'What the provider is asked for.',
      },
    },
  },
}
