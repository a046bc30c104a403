import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { type Extension, Prec, RangeSet, StateEffect, StateField } from '@codemirror/state'
import {
  Decoration,
  EditorView,
  GutterMarker,
  gutterLineClass,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { COLORS, LOOK } from './json-look'

export interface JsonEditorOptions {
  /** The name of the field for screen readers. */
  readonly label: string
  /** What screen readers say after it. */
  readonly description: string
  readonly text: string
  /** Called with the text after each change. */
  readonly onInput: (text: string) => void
  /** Called at Ctrl Enter. */
  readonly onSubmit: () => void
}

export interface JsonEditor extends Disposable {
  focus(): void
  /** Puts the cursor at this place, and shows it. */
  goTo(offset: number): void
  /** Marks the line with this place as wrong; null: none. */
  mark(offset: number | null): void
}

/**
 * Opens an editor in a shadow root of `host`: there its styles are no elements, which the policy of the page blocks
 * (admin.md §5).
 */
export function openJsonEditor(host: HTMLElement, options: JsonEditorOptions): JsonEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const description = document.createElement('p')
  description.id = 'description'
  description.hidden = true
  description.textContent = options.description
  const view = new EditorView({
    doc: options.text,
    root,
    extensions: extensionsFor(options, description.id),
  })
  root.replaceChildren(view.dom, description)
  return {
    focus: () => view.focus(),
    goTo(offset) {
      const anchor = Math.min(offset, view.state.doc.length)
      view.dispatch({ selection: { anchor }, scrollIntoView: true })
      view.focus()
    },
    mark: (offset) => view.dispatch({ effects: marking.of(offset) }),
    [Symbol.dispose]: () => view.destroy(),
  }
}

function extensionsFor(options: JsonEditorOptions, describedBy: string): Extension {
  const submit = () => {
    options.onSubmit()
    return true
  }
  return [
    Prec.highest(keymap.of([{ key: 'Mod-Enter', run: submit }])),
    keymap.of([...searchKeymap, ...historyKeymap, ...foldKeymap, indentWithTab, ...defaultKeymap]),
    lineNumbers(),
    foldGutter({ openText: '⌄', closedText: '›' }),
    history(),
    json(),
    syntaxHighlighting(COLORS),
    bracketMatching(),
    indentOnInput(),
    search({ top: true }),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    marked,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': options.label,
      'aria-describedby': describedBy,
    }),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) options.onInput(state.doc.toString())
    }),
    LOOK,
  ]
}

const marking = StateEffect.define<number | null>()

/** The place that is wrong, which moves with the text around it. */
const marked = StateField.define<number | null>({
  create: () => null,
  update(before, { effects, changes }) {
    for (const effect of effects) if (effect.is(marking)) return effect.value
    return before === null ? null : changes.mapPos(before)
  },
  provide: (field) => [
    EditorView.decorations.compute([field, 'doc'], (state) => {
      const offset = state.field(field)
      if (offset === null) return Decoration.none
      const { from, to } = state.doc.lineAt(Math.min(offset, state.doc.length))
      const sign = Math.min(offset, state.doc.length)
      const line = WRONG_LINE.range(from)
      return Decoration.set(sign < to ? [line, WRONG_SIGN.range(sign, sign + 1)] : [line])
    }),
    gutterLineClass.compute([field, 'doc'], (state) => {
      const offset = state.field(field)
      if (offset === null) return RangeSet.empty
      return RangeSet.of(
        WRONG_NUMBER.range(state.doc.lineAt(Math.min(offset, state.doc.length)).from),
      )
    }),
    EditorView.contentAttributes.compute([field], (state): Record<string, string> => {
      return state.field(field) === null ? {} : { 'aria-invalid': 'true' }
    }),
  ],
})

const WRONG_LINE = Decoration.line({ class: 'cm-wrong' })
const WRONG_SIGN = Decoration.mark({ class: 'cm-wrong-sign' })
const WRONG_NUMBER = new (class extends GutterMarker {
  override readonly elementClass = 'cm-wrong'
})()
