import { Text } from '../parts/text'

/** What a member of a realm may do. */
export interface Rights {
  /** The names of roles. */
  readonly roles: readonly string[]
  /** True for everything in the realm. */
  readonly mayManage: boolean
}

/** The rights as `member.add` takes them. */
export function rightsInput({ roles, mayManage }: Rights): object {
  return { roles, ...(mayManage ? { permissions: { manage: '*' } } : {}) }
}

/** Chooses the rights of a member. */
export function RightsField({
  roles,
  rights,
  onChange,
  onMore,
}: {
  /** The names of the roles of the realm. */
  roles: readonly string[]
  rights: Rights
  onChange: (rights: Rights) => void
  /** Asks for more roles; undefined: these are all. */
  onMore?: (() => void) | undefined
}) {
  const { roles: chosen, mayManage } = rights
  const toggle = (role: string) => {
    const others = chosen.filter((each) => each !== role)
    onChange({ ...rights, roles: chosen.includes(role) ? others : [...chosen, role] })
  }
  return (
    <fieldset class="checks">
      <legend>Rights</legend>
      {roles.map((role) => (
        <label key={role} class="check">
          <input type="checkbox" checked={chosen.includes(role)} onChange={() => toggle(role)} />
          <span>
            <Text text={role} />
          </span>
        </label>
      ))}
      {onMore !== undefined && (
        <button type="button" class="more" onClick={onMore}>
          More roles
        </button>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={mayManage}
          onChange={() => onChange({ ...rights, mayManage: !mayManage })}
        />
        <span>May change everything in the realm</span>
      </label>
    </fieldset>
  )
}
