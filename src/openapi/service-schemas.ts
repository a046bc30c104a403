import { ERROR_CODES } from './refusals'
import type { Schema } from './specification'

export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: {
    description: 'Every refusal that is not told otherwise. At most 4 KiB.',
    type: 'object',
    required: ['code', 'message', 'requestId'],
    properties: {
      code: { type: 'string', enum: ERROR_CODES, description: 'For programs.' },
      message: { type: 'string', description: 'For people.' },
      requestId: { type: 'string', description: 'The `X-Request-Id` of the answer.' },
      reason: {
        type: 'string',
        description: 'The permission, the scope or the property that was the obstacle.',
      },
    },
  },
  Service: {
    type: 'object',
    required: ['name', 'version', 'documentation'],
    properties: {
      name: { const: 'satchel' },
      version: { type: 'string' },
      documentation: { type: 'string', description: 'Where this page is.' },
    },
  },
}
