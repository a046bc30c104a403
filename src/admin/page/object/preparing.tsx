/** In the place of something that takes a moment. */
export function Preparing() {
  return (
    <p class="soft small" role="status">
      Preparing…
    </p>
  )
}
