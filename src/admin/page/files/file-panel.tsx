import { Ago } from '../parts/ago'
import { Copy } from '../parts/copy'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { Panel } from '../parts/panel'
import { Text } from '../parts/text'
import { download } from '../server/download'
import { useOperation } from '../server/operation'
import { may } from '../server/session'
import { database, hrefOf } from '../shell/route'
import { tellError } from '../shell/toasts'
import { sizeText } from '../value/typed'
import { type BlobInfo, fileNameOf } from './blob'
import { Thumbnail } from './thumbnail'

interface WholeBlob extends BlobInfo {
  readonly uploaders: readonly string[]
  readonly references: readonly {
    readonly realm: string
    readonly table: string
    readonly key: string
  }[]
  readonly hasMoreReferences: boolean
}

/** A blob with the objects that reference it. */
export function FilePanel({ blob: ref, onClose }: { blob: string; onClose: () => void }) {
  const input = { database: database.value, blob: ref }
  const { value: blob, error } = useOperation<WholeBlob>('blob.show', input)
  return (
    <Panel title={ref} onClose={onClose} actions={<Copy text={ref} label="Copy the reference" />}>
      <Failure error={error} />
      {blob !== undefined && (
        <>
          <Thumbnail blob={blob} />
          <Facts>
            <Fact name="Type">
              <Text text={blob.type} />
            </Fact>
            <Fact name="Size">
              {sizeText(blob.size)}{' '}
              <span class="soft small">{blob.size.toLocaleString()} bytes</span>
            </Fact>
            <Fact name="Came">
              <Ago at={blob.created} />
            </Fact>
            <Fact name="SHA-256">
              <span class="mono small">{blob.hash}</span>
            </Fact>
            <Fact name="Sent by">
              <Text text={blob.uploaders.join(', ') || 'the server'} />
            </Fact>
          </Facts>
          {may('blob.read') && (
            <div class="actions">
              <button
                onClick={() => void download('blob.read', input, fileNameOf(blob)).catch(tellError)}
              >
                Save as a file
              </button>
            </div>
          )}
          <section class="part">
            <h3>Objects that reference it</h3>
            <ul class="rows">
              {blob.references.map(({ table, key }) => (
                <li key={`${table} ${key}`}>
                  <a class="clip" href={hrefOf('data', table, key)}>
                    <Text text={table} /> <Text text={key} />
                  </a>
                </li>
              ))}
              {blob.hasMoreReferences && <li class="soft">and more</li>}
              {blob.references.length === 0 && <li class="soft">None: it is removed later.</li>}
            </ul>
          </section>
        </>
      )}
    </Panel>
  )
}
