import { Icon } from '../parts/icon'
import { Menu } from '../parts/menu'
import { Text } from '../parts/text'

/** Chooses the properties that have a column. */
export function ColumnChooser({
  all,
  chosen,
  onChoose,
}: {
  all: readonly string[]
  chosen: readonly string[]
  onChoose: (names: readonly string[]) => void
}) {
  if (all.length === 0) {
    return (
      <button disabled aria-label="Columns">
        <Icon name="columns" />
        <span class="number">0/0</span>
      </button>
    )
  }
  const toggle = (name: string) => {
    const isShown = chosen.includes(name)
    onChoose(
      isShown
        ? chosen.filter((each) => each !== name)
        : all.filter((each) => each === name || chosen.includes(each)),
    )
  }
  return (
    <Menu
      label="Columns"
      button={
        <>
          <Icon name="columns" />
          <span class="number">
            {chosen.length}/{all.length}
          </span>
        </>
      }
    >
      {all.map((name) => (
        <label key={name} class="menu-item">
          <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />
          <span class="clip">
            <Text text={name} />
          </span>
        </label>
      ))}
    </Menu>
  )
}
