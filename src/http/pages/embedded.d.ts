/** Embedded as text: `import content from '…' with { type: 'text' }`. */
declare module '*.md' {
  const content: string
  export default content
}

declare module '*/copy.js' {
  const content: string
  export default content
}
declare module '*/live.js' {
  const content: string
  export default content
}
