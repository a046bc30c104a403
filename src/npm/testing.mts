/** The one module, whether it is imported or required: an error of one is an error of the other. */
export * from './testing.js'
