/** The commit that the executable was built from, with `-changed` when files differed from it. The build puts it here. */
export const COMMIT: string | null = null
