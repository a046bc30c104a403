// A button on each example that copies it. Browsers have a clipboard on https and localhost only.
if (navigator.clipboard !== undefined) {
  for (const example of document.querySelectorAll('.example')) addButton(example)
}

function addButton(example) {
  const button = document.createElement('button')
  button.textContent = 'Copy'
  const copy = async () => {
    await navigator.clipboard.writeText(example.querySelector('pre').textContent)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 2_000)
  }
  button.addEventListener('click', () => void copy())
  example.append(button)
}
