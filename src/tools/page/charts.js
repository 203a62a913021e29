// Memory over time, times and weights.
function drawMemory(svg, say) {
  const blocks = network.memory, steps = network.steps.length;
  const width = svg.clientWidth, height = svg.clientHeight;
  const left = 70, right = 12, top = 10, bottom = 26;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const x = step => left + (step + 1) / (steps + 2) * (width - left - right);
  const y = offset => height - bottom - offset / network.io_bytes * (height - top - bottom);
  for (let part = 0; part <= 4; ++part) {
    const offset = network.io_bytes * part / 4;
    add(svg, 'line', {x1: left, x2: width - right, y1: y(offset), y2: y(offset), class: 'edge'});
    add(svg, 'text', {x: left - 6, y: y(offset) + 4, 'text-anchor': 'end', class: 'faint'}, bytesText(Math.round(offset)));
  }
  add(svg, 'text', {x: left, y: height - 8, class: 'faint'}, 'input');
  add(svg, 'text', {x: width - right, y: height - 8, 'text-anchor': 'end', class: 'faint'}, `step ${steps - 1}, outputs`);
  for (const block of blocks) {
    const made = block.born < 0 ? 'once' : classOf(network.steps[block.born]);
    const rect = add(svg, 'rect', {x: x(block.born), y: y(block.offset + block.bytes), class: made,
      width: Math.max(1, x(block.dies + 1) - x(block.born)), height: Math.max(1, y(block.offset) - y(block.offset + block.bytes))});
    const by = block.born < 0 ? 'the input' : `step ${block.born}, ${network.steps[block.born].name},`;
    const until = block.dies >= steps ? 'to the end, as an output' : `up to step ${block.dies}`;
    const text = `${block.shape}: ${bytesText(block.bytes)} at ${block.offset}, from ${by} ${until}`;
    add(rect, 'title', {}, text);
    rect.addEventListener('pointerenter', () => { say.textContent = text; });
  }
  const alive = [...Array(steps).keys()].map(i => blocks.filter(b => b.born <= i && i <= b.dies)
    .reduce((sum, b) => sum + b.bytes, 0));
  const most = Math.max(0, ...alive);
  const all = blocks.reduce((sum, b) => sum + b.bytes, 0);
  say.textContent = `The buffer has ${bytesText(network.io_bytes)}. The most that is alive at once is ${bytesText(most)}` +
    (steps ? `, at step ${alive.indexOf(most)}` : '') + `; without sharing, all tensors would take ${bytesText(all)}.`;
}

function headRow(table, names) {
  const row = add(add(table, 'thead'), 'tr');
  for (const name of names) add(row, 'th', {}, name);
  return add(table, 'tbody');
}

function drawTimes(table, text, choose) {
  const measured = network.measured_on !== '';
  text.textContent = `Estimate for a board with ${network.board}: ${timeText(network.estimate_us)} on the device, ` +
    'a lower bound by a model that no board was measured against.' +
    (measured ? ` Measured here on ${network.measured_on}.` : ' dvnet inspect --html FILE --measure adds what it takes here.');
  const names = ['step', 'name', 'million MACs', 'estimate', 'waits for'];
  if (measured) names.push('measured');
  const body = headRow(table, [...names, '']);
  const most = Math.max(1e-9, ...network.steps.map(s => s.us || 0));
  const mostMeasured = Math.max(1e-9, ...network.steps.map(s => s.measured_us || 0));
  network.steps.forEach((step, i) => {
    const row = add(body, 'tr');
    add(row, 'td', {}, String(i));
    add(row, 'td', {title: step.name}, step.name);
    add(row, 'td', {}, step.macs ? (step.macs / 1e6).toFixed(2) : '–');
    add(row, 'td', {}, step.us === undefined ? 'CPU' : timeText(step.us));
    add(row, 'td', {}, step.bound || '–');
    if (measured) add(row, 'td', {}, timeText(step.measured_us || 0));
    const bar = add(row, 'td', {class: 'bar'});
    add(bar, 'i', {}).style.width = `${100 * (step.us || 0) / most}%`;
    if (measured) add(bar, 'i', {class: 'measured'}).style.width = `${100 * (step.measured_us || 0) / mostMeasured}%`;
    row.addEventListener('click', () => choose(i));
  });
}

function drawWeights(table) {
  const body = headRow(table, ['step', 'name', 'bytes', 'bits', 'least', 'most', 'RMS', 'zeros', 'largest bias']);
  network.steps.forEach((step, i) => {
    const w = step.weights;
    if (!w) return;
    const row = add(body, 'tr');
    const texts = [i, step.name, step.weight_bytes, w.bits, numberText(w.least), numberText(w.most), numberText(w.rms),
      (100 * w.zeros).toFixed(1) + ' %', numberText(w.bias)];
    texts.forEach(text => add(row, 'td', {}, String(text)));
  });
  if (!body.children.length) add(add(body, 'tr'), 'td', {}, 'No step has packed weights here.');
}
