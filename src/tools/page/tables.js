// Tables of times and weights. A click on a column's name sorts by it, a second one reverses the order.

// Columns are {name, value(step, i), text(step, i)}; `draw(row, step, i)` adds graphics.
function drawTable(table, columns, rows, draw, choose) {
  const head = add(add(table, 'thead'), 'tr'), body = add(table, 'tbody');
  const drawn = rows.map(i => {
    const row = add(body, 'tr', {class: 'choice'}), step = network.steps[i];
    for (const column of columns) {
      const text = column.text(step, i);
      add(row, 'td', {title: column.name === 'name' ? text : ''}, text);
    }
    draw(row, step, i);
    row.addEventListener('click', () => choose(i));
    return {i, row};
  });
  for (const column of [...columns, null]) {
    const cell = add(head, 'th', {}, column ? column.name : '');
    if (!column) continue;
    cell.addEventListener('click', () => {
      // Numbers begin with the largest, names and steps with the first.
      const first = ['step', 'name', 'waits for'].includes(column.name) ? 'ascending' : 'descending';
      const other = {ascending: 'descending', descending: 'ascending'};
      const order = cell.ariaSort === first ? other[first] : first;
      for (const sibling of head.children) sibling.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', order);
      const sign = order === 'ascending' ? 1 : -1;
      drawn.sort((a, b) => {
        const [p, q] = [a, b].map(({i}) => column.value(network.steps[i], i));
        return (p < q ? -1 : p > q ? 1 : 0) * sign || a.i - b.i;
      });
      body.append(...drawn.map(({row}) => row));
    });
  }
  return number => drawn.forEach(({i, row}) => row.classList.toggle('chosen', i === number));
}

const STEP = [
  {name: 'step', value: (step, i) => i, text: (step, i) => String(i)},
  {name: 'name', value: step => step.name, text: step => step.name},
];

function drawTimes(table, text, key, choose) {
  const measured = network.measured_on !== '';
  text.textContent = `Estimate for a board with ${network.board}: ${timeText(network.estimate_us)} on the device, ` +
    'a lower bound by a model that no board was measured against. ' +
    (measured ? `Measured here on ${network.measured_on}.` : 'dvnet inspect --html FILE --measure adds what it takes here.');
  add(key, 'i', {class: 'estimate'});
  key.append('estimate');
  if (measured) {
    add(key, 'i', {class: 'measured'});
    key.append('measured here; each of the two to its own longest step');
  }
  const columns = [...STEP,
    {name: 'million MACs', value: step => step.macs, text: step => step.macs ? (step.macs / 1e6).toFixed(2) : '–'},
    {name: 'estimate', value: step => step.us ?? -1, text: step => step.us === undefined ? 'CPU' : timeText(step.us)},
    {name: 'waits for', value: step => step.bound || '', text: step => step.bound || '–'}];
  if (measured) {
    columns.push({name: 'measured', value: step => step.measured_us || 0, text: step => timeText(step.measured_us || 0)});
  }
  const most = Math.max(1e-9, ...network.steps.map(s => s.us || 0));
  const mostMeasured = Math.max(1e-9, ...network.steps.map(s => s.measured_us || 0));
  return drawTable(table, columns, [...network.steps.keys()], (row, step) => {
    const bar = add(row, 'td', {class: 'bar'});
    add(bar, 'i', {}).style.width = `${100 * (step.us || 0) / most}%`;
    if (measured) add(bar, 'i', {class: 'measured'}).style.width = `${100 * (step.measured_us || 0) / mostMeasured}%`;
  }, choose);
}

function drawWeights(table, choose) {
  const of = (name, text) => ({name, value: step => step.weights[name], text: step => text(step.weights[name])});
  const columns = [...STEP,
    {name: 'bytes', value: step => step.weight_bytes, text: step => String(step.weight_bytes)},
    of('bits', String), of('least', numberText), of('most', numberText),
    {...of('rms', numberText), name: 'RMS'}, of('zeros', value => (100 * value).toFixed(1) + ' %'),
    {...of('bias', numberText), name: 'largest bias'}];
  const rows = [...network.steps.keys()].filter(i => network.steps[i].weights);
  if (!rows.length) {
    add(add(table, 'tr'), 'td', {}, 'No step has packed weights here.');
    return () => {};
  }
  const far = Math.max(1e-30, ...rows.map(i => network.steps[i].weights).map(w => Math.max(-w.least, w.most)));
  const place = value => 50 + 50 * value / far;
  return drawTable(table, columns, rows, (row, {weights}) => {
    const line = add(add(row, 'td', {class: 'range'}), 'span');
    const bar = (least, most, name) => {
      const {style} = add(line, 'i', {class: name});
      style.left = `${place(least)}%`;
      style.width = `${place(most) - place(least)}%`;
    };
    bar(weights.least, weights.most, 'all');
    bar(Math.max(weights.least, -weights.rms), Math.min(weights.most, weights.rms), 'most');
    add(line, 'b');
  }, choose);
}
