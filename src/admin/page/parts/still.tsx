import { Component, type ComponentChild, h } from 'preact'

/**
 * A component that is drawn again only when one of its properties has changed. To keep its vnodes instead, by `useMemo`,
 * would keep in memory every drawing that they were a part of.
 */
export function still<Props extends object>(draw: (props: Props) => ComponentChild) {
  return class Still extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = Object.keys(next) as (keyof Props)[]
      return names.some((name) => next[name] !== this.props[name])
    }

    override render(props: Props) {
      return h(draw as (props: object) => ComponentChild, props)
    }
  }
}
