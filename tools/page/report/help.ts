/// The keys, as a dialog.

const kKeys: [string, string][] = [
  ['1 … 5', 'timeline, where the time goes, pipeline, memory, links'],
  ['w, s', 'zoom in and out; also the mouse wheel once the timeline has the focus'],
  ['a, d', 'earlier and later; also drag'],
  ['f', 'fit the selected operation'],
  ['0', 'the whole step'],
  ['n, p', 'next and previous operation of the critical path'],
  ['← → ↑ ↓', 'in the timeline: the operation before, after, in the row above or below; in a figure: its values'],
  ['Esc', 'select nothing'],
  ['?', 'these keys'],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', 'Keys');
  const heading = document.createElement('h2');
  heading.textContent = 'Keys';
  const table = document.createElement('table');
  for (const [keys, text] of kKeys) {
    const row = table.insertRow();
    const name = document.createElement('th');
    name.scope = 'row';
    const key = document.createElement('kbd');
    key.textContent = keys;
    name.append(key);
    row.append(name);
    const cell = row.insertCell();
    cell.className = 'words long';
    cell.textContent = text;
  }
  const close = document.createElement('button');
  close.textContent = 'Close';
  close.addEventListener('click', () => dialog.close());
  dialog.append(heading, table, close);
  document.body.append(dialog);
  return dialog;
}
