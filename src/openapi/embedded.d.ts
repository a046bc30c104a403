/** Files that are embedded as they are: `import path from '…' with { type: 'file' }`. */
declare module '*.svg' {
  const path: string
  export default path
}
declare module '*.css' {
  const path: string
  export default path
}
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const path: string
  export default path
}
declare module '*/page/start.js' {
  const path: string
  export default path
}
