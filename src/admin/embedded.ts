/** The files of the page, made from the sources: `bun build.ts` makes them once, and puts them in place of this module. */
export { bundle as readFiles } from './bundle'
