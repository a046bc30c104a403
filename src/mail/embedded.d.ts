/** Embedded as text: `import content from '…' with { type: 'text' }`. */
declare module '*.handlebars' {
  const content: string
  export default content
}
