// Builds the page.
function tensorText(tensor) {
  return `${tensor.shape} ${tensor.type} ${tensor.layout}`;
}

function showHead() {
  document.title = network.name;
  byId('name').textContent = network.name;
  byId('source').textContent = [network.source, network.producer].filter(Boolean).join(' · ');
  const rank = {error: 0, warning: 1, note: 2};
  const list = [...network.warnings].sort((a, b) => rank[a.grave] - rank[b.grave]);
  for (const warning of list) add(byId('warnings'), 'li', {class: warning.grave}, warning.text);
  const onCpu = network.steps.filter(step => step.where !== 'device').length;
  const shown = 4;  // number of labels that fit
  const facts = [
    ['Input', tensorText(network.input)],
    ['Decoder', network.decoder.name || 'none'],
    ['Labels', network.labels.length ? `${network.labels.length}: ${network.labels.slice(0, shown).join(', ')}` +
      (network.labels.length > shown ? ' …' : '') : 'none'],
    ['Steps', `${network.steps.length}, ` + (onCpu ? `${onCpu} of them not on the device` : 'all on the device')],
    ['Multiply-adds', macsText(network.macs)],
    ['Weights', bytesText(network.weight_bytes)],
    ['I/O buffer per slot', bytesText(network.io_bytes)],
    ['Estimate for a board', timeText(network.estimate_us)],
  ];
  if (network.measured_on) {
    facts.push(['Measured here', timeText(network.steps.reduce((sum, step) => sum + (step.measured_us || 0), 0))]);
  }
  addFacts(byId('facts'), facts);
}

function showStep(number) {
  const panel = byId('step');
  panel.replaceChildren();
  if (number < 0) {
    add(panel, 'p', {}, 'Drag to move the graph, pinch or turn the wheel to zoom (after a click, or with Ctrl), ' +
      'click a step to see what it is. Enter in the search field goes to the next step found.');
    showLongest(panel);
    return;
  }
  const step = network.steps[number];
  add(panel, 'h3', {}, `${number} ${step.name}`);
  const facts = [['Does', step.does], ['Runs on', step.where + (step.why ? ': ' + step.why : '')]];
  step.inputs.forEach(tensor => facts.push(['Reads', tensorText(tensor)]));
  step.outputs.forEach(tensor => facts.push(['Writes', `${tensorText(tensor)}, ${bytesText(tensor.bytes)}`]));
  if (step.macs) facts.push(['Multiply-adds', macsText(step.macs)]);
  if (step.weight_bytes) facts.push(['Weights', bytesText(step.weight_bytes)]);
  if (step.us !== undefined) facts.push(['Estimate', `${timeText(step.us)}, waits for ${step.bound}`]);
  if (step.measured_us !== undefined) facts.push(['Measured', timeText(step.measured_us)]);
  facts.push(['Layers of the model', step.layers.join(', ')]);
  addFacts(add(panel, 'dl'), facts);
}

// Shows the steps that take the most time, for a start.
function showLongest(panel) {
  const all = network.steps.map((step, i) => ({step, i, time: timeOf(step)})).sort((a, b) => b.time - a.time);
  const sum = all.reduce((total, {time}) => total + time, 0);
  if (!(sum > 0)) return;
  add(panel, 'h3', {}, network.measured_on ? 'Longest steps, measured' : 'Longest steps, estimated');
  const list = add(panel, 'ol');
  for (const {step, i, time} of all.slice(0, 8)) {
    const item = add(list, 'li', {class: 'longest'});
    add(item, 'span', {}, `${i} ${step.name}`);
    add(item, 'span', {}, `${timeText(time)}, ${(100 * time / sum).toFixed(0)} %`);
    add(item, 'span', {class: 'bar'}).style.width = `${100 * time / all[0].time}%`;
    item.addEventListener('click', () => choose(i));
  }
}

function showUse(parent) {
  const {input, outputs, decoder, labels} = network;
  const facts = [
    ['Input', tensorText(input)],
    ['A pixel of a picture becomes', `(pixel − [${input.mean.map(numberText)}]) × [${input.scale.map(numberText)}], in the order ${input.order}`],
    ['Resizing', input.resize + (input.resize.startsWith('letterbox') ? `, beside it [${input.pad_value}]` : '')],
    ...outputs.map(output => [`Output ${output.name}`, tensorText(output)]),
    ['Decoder', decoder.name || 'none'],
  ];
  addFacts(add(parent, 'dl'), facts);
  if (decoder.name && Object.keys(decoder.params || {}).length) add(parent, 'pre', {}, JSON.stringify(decoder.params, null, 1));
  if (labels.length) {
    const details = add(parent, 'details');
    add(details, 'summary', {}, `${labels.length} labels`);
    add(details, 'pre', {}, labels.map((label, i) => `${i} ${label}`).join('\n'));
  }
}

showHead();
const graph = new GraphView(byId('graph'), byId('map'), byId('hint'), network.steps, choose);
const marks = [number => graph.mark(number), drawMemory(byId('memory'), byId('memory-text'), choose),
  drawTimes(byId('times'), byId('time-text'), byId('time-key'), choose), drawWeights(byId('weights'), choose)];
function choose(number) {
  for (const mark of marks) mark(number);
  graph.centre(number);
  showStep(number);
}
// A click outside the nodes shows these steps again.
function chooseNone() {
  for (const mark of marks) mark(-2);
  showStep(-1);
}
byId('graph').addEventListener('click', event => {
  if (!graph.moved && !event.target.closest('.node')) chooseNone();
});
chooseNone();
byId('closer').addEventListener('click', () => graph.zoom(0.8));
byId('farther').addEventListener('click', () => graph.zoom(1.25));
byId('whole').addEventListener('click', () => graph.showWhole());

let hits = [], hit = 0;
function showHit(number) {
  hit = hits.length ? (number + hits.length) % hits.length : 0;
  if (hits.length) graph.centre(hits[hit]);
  const where = hits.length ? `${hit + 1} of ${hits.length}` : 'none';
  byId('hits').textContent = byId('search').value.trim() ? where : '';
}
byId('search').addEventListener('input', event => {
  hits = graph.find(event.target.value);
  showHit(0);
});
byId('search').addEventListener('keydown', event => {
  if (event.key === 'Enter') showHit(hit + (event.shiftKey ? -1 : 1));
});
showUse(byId('use'));
