// Puts the page together.
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
  const facts = [
    ['Input', tensorText(network.input)],
    ['Decoder', network.decoder.name || 'none'],
    ['Labels', network.labels.length],
    ['Steps', `${network.steps.length}, ${onCpu} of them not on the device`],
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
    add(panel, 'p', {}, 'Drag to move, turn the wheel to zoom, click a step to see what it is.');
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
  if (decoder.name) add(parent, 'pre', {}, JSON.stringify(decoder.params, null, 1));
  if (labels.length) {
    const details = add(parent, 'details');
    add(details, 'summary', {}, `${labels.length} labels`);
    add(details, 'pre', {}, labels.map((label, i) => `${i} ${label}`).join('\n'));
  }
}

showHead();
const graph = new GraphView(byId('graph'), network.steps, choose);
function choose(number) {
  graph.mark(number);
  graph.centre(number);
  showStep(number);
}
showStep(-1);
byId('closer').addEventListener('click', () => graph.zoom(0.8));
byId('farther').addEventListener('click', () => graph.zoom(1.25));
byId('whole').addEventListener('click', () => graph.showWhole());
byId('search').addEventListener('input', event => {
  const text = event.target.value;
  const hits = graph.find(text);
  byId('hits').textContent = text.trim() ? `${hits} of ${network.steps.length}` : '';
});
drawMemory(byId('memory'), byId('memory-text'));
drawTimes(byId('times'), byId('time-text'), choose);
drawWeights(byId('weights'));
showUse(byId('use'));
