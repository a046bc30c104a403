/** Embedded as text: `import content from '…' with { type: 'text' }`. */
declare module '*.md' {
  const content: string
  export default content
}
