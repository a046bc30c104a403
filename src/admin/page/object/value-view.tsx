import { useMemo, useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { Copy } from '../parts/copy'
import { Fact, Facts } from '../parts/facts'
import { Icon } from '../parts/icon'
import { saveFile } from '../parts/save-file'
import { Segments } from '../parts/segments'
import { inSlices } from '../parts/slices'
import { useSlices } from '../parts/use-slices'
import { hrefOf } from '../shell/route'
import { tellError } from '../shell/toasts'
import { Tree } from '../value/tree'
import { propertiesOf, sizeText } from '../value/typed'
import { Preparing } from './preparing'
import type { StoredObject } from './stored'
import { textSteps } from './text'
import { Text } from '../parts/text'

/** Longer texts are shown on demand: a browser takes seconds to lay them out. */
const LONG = 200_000

/** The value of an object as a tree or as JSON. */
export function ValueView({ object }: { object: StoredObject }) {
  const [form, setForm] = useState<'tree' | 'json'>('tree')
  const { owner, realmId, revision, entered, updated, size, value } = object
  const members = useMemo(() => propertiesOf(value), [value])
  const text = () => inSlices(textSteps(value))
  const save = async () => saveFile(`${object.key}.json`, 'application/json', [await text()])
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
        <Fact name="Size">{sizeText(size)}</Fact>
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
            onClick={() => void save().catch(tellError)}
          >
            <Icon name="download" />
          </button>
        </span>
      </div>
      {form === 'tree' ? <Tree members={members} /> : <Json value={value} />}
    </>
  )
}

function Json({ value }: { value: object }) {
  const [isWhole, setIsWhole] = useState(false)
  const text = useSlices(() => textSteps(value), [value])
  if (text === undefined) return <Preparing />
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
