// The launch table: search and sorting, where there are enough launches for it.

/** @param {HTMLTableRowElement} row @param {number} column */
function launchesKey(row, column) {
  const cell = row.cells[column];
  const sort = cell?.dataset.sort;
  const text = (cell?.textContent ?? '').trim();
  const number = Number(sort ?? text.replaceAll(',', '').split(' ')[0]);
  return { number: text === '' || Number.isNaN(number) ? null : number, text: text.toLowerCase() };
}

/**
 * @param {HTMLTableRowElement[]} rows
 * @param {number} column
 * @param {boolean} down
 * @returns {HTMLTableRowElement[]}
 */
function launchesSorted(rows, column, down) {
  const keyed = rows.map((row, i) => ({ row, i, key: launchesKey(row, column) }));
  keyed.sort((a, b) => {
    const [x, y] = [a.key, b.key];
    const by = x.number !== null && y.number !== null ? x.number - y.number : x.text.localeCompare(y.text);
    return (down ? -by : by) || a.i - b.i;
  });
  return keyed.map((one) => one.row);
}

/** @param {HTMLElement} root */
export function initLaunches(root) {
  const table = root.querySelector('table.launches');
  const body = table?.querySelector('tbody');
  if (!table || !body || body.rows.length < 3) return;
  const heads = /** @type {HTMLTableCellElement[]} */ ([...table.querySelectorAll('thead th')]);
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'Sort by this column';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      body.append(...launchesSorted([...body.rows], column, down));
    });
  });
  const search = /** @type {HTMLInputElement | null} */ (root.querySelector('#wg-launch-search'));
  const found = root.querySelector('#wg-launch-found');
  search?.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = `${row.textContent} ${row.querySelector('a')?.title ?? ''} ${row.dataset.nvtx ?? ''}`.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    if (found) found.textContent = words.length ? `${shown} of ${body.rows.length}` : '';
  });
}
