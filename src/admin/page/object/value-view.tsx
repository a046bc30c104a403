import { useMemo, useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Copy } from '../parts/copy'
import { Fact, Facts } from '../parts/facts'
import { Icon } from '../parts/icon'
import { saveFile } from '../parts/save-file'
import { Segments } from '../parts/segments'
import { hrefOf } from '../shell/route'
import { Tree } from '../value/tree'
import { sizeText } from '../value/typed'
import { type StoredObject, textOf } from './stored'
import { Text } from '../parts/text'

/** Longer texts are shown on demand: a browser takes seconds to lay them out. */
const LONG = 200_000

/** The value of an object as a tree or as JSON. */
export function ValueView({ object }: { object: StoredObject }) {
  const [form, setForm] = useState<'tree' | 'json'>('tree')
  const { owner, realmId, revision, entered, updated, value } = object
  const text = useMemo(() => textOf(value), [value])
  return (
    <>
      <Facts>
        <Fact name="Owner">
          {owner === null ? (
            <span class="soft">unowned</span>
          ) : (
            <a href={hrefOf('people', owner)}>
              <Text text={owner} />
            </a>
          )}
        </Fact>
        <Fact name="Realm">
          <a href={hrefOf('sharing', realmId)}>
            <Text text={realmId} />
          </a>
        </Fact>
        <Fact name="Written">
          <Ago at={updated} /> <span class="soft small">revision {revision.toLocaleString()}</span>
        </Fact>
        <Fact name="In the realm">
          <span class="soft">since revision {entered.toLocaleString()}</span>
        </Fact>
        <Fact name="Size">{sizeText(text.length)}</Fact>
      </Facts>
      <div class="value-head">
        <Segments
          label="Form"
          choices={[
            ['tree', 'Tree'],
            ['json', 'JSON'],
          ]}
          chosen={form}
          onChoose={setForm}
        />
        <span>
          <Copy text={text} label="Copy as JSON" />
          <button
            class="plain"
            title="Save the object as a file"
            aria-label="Save the object as a file"
            onClick={() => saveFile(`${object.key}.json`, 'application/json', [text])}
          >
            <Icon name="download" />
          </button>
        </span>
      </div>
      {form === 'tree' ? <Tree entries={Object.entries(value)} /> : <Json text={text} />}
    </>
  )
}

function Json({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false)
  const shown = isWhole ? text : text.slice(0, LONG)
  return (
    <div class="json">
      <pre tabIndex={0} role="region" aria-label="JSON">
        {shown}
      </pre>
      {shown.length < text.length && (
        <button onClick={() => setIsWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </div>
  )
}
