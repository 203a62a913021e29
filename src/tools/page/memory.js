// Memory over time: the planner's map.
function drawMemory(svg, say, choose) {
  const blocks = network.memory, steps = network.steps.length;
  const width = svg.clientWidth, height = svg.clientHeight;
  const left = 70, right = 12, top = 14, bottom = 38;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const x = step => left + (step + 1) / (steps + 2) * (width - left - right);
  const y = offset => height - bottom - offset / network.io_bytes * (height - top - bottom);
  for (let part = 0; part <= 4; ++part) {
    const offset = network.io_bytes * part / 4;
    add(svg, 'line', {x1: left, x2: width - right, y1: y(offset), y2: y(offset), class: 'edge'});
    add(svg, 'text', {x: left - 6, y: y(offset) + 4, 'text-anchor': 'end', class: 'faint'}, bytesText(Math.round(offset)));
  }
  add(svg, 'text', {x: left, y: height - bottom + 16, class: 'faint'}, 'input');
  add(svg, 'text', {x: width - right, y: height - bottom + 16, 'text-anchor': 'end', class: 'faint'}, 'outputs');
  add(svg, 'text', {x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle', class: 'faint'}, 'step');
  // The smallest distance at which the numbers fit.
  const stride = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find(n => n * (width - left - right) / (steps + 2) > 34) || 1000;
  for (let i = 0; i < steps; i += stride) {
    if (x(i) < left + 40 || x(i + 1) > width - right - 50) continue;
    add(svg, 'text', {x: (x(i) + x(i + 1)) / 2, y: height - bottom + 16, 'text-anchor': 'middle', class: 'faint'}, String(i));
  }
  const rects = [];
  for (const block of blocks) {
    const made = block.born < 0 ? 'once' : classOf(network.steps[block.born]);
    const rect = add(svg, 'rect', {x: x(block.born), y: y(block.offset + block.bytes), class: made,
      width: Math.max(1, x(block.dies + 1) - x(block.born)), height: Math.max(1, y(block.offset) - y(block.offset + block.bytes))});
    const by = block.born < 0 ? 'the input' : `step ${block.born}, ${network.steps[block.born].name},`;
    const until = block.dies >= steps ? 'to the end, as an output' : `up to step ${block.dies}`;
    const text = `${block.shape}: ${bytesText(block.bytes)} at ${block.offset}, from ${by} ${until}`;
    add(rect, 'title', {}, text);
    rect.addEventListener('pointerenter', () => { say.textContent = text; });
    rect.addEventListener('click', () => block.born >= 0 && choose(block.born));
    rects.push(rect);
  }
  const alive = [...Array(steps).keys()].map(i => blocks.filter(b => b.born <= i && i <= b.dies)
    .reduce((sum, b) => sum + b.bytes, 0));
  const most = Math.max(0, ...alive), at = alive.indexOf(most);
  const all = blocks.reduce((sum, b) => sum + b.bytes, 0);
  if (at >= 0) add(svg, 'line', {class: 'most', x1: (x(at) + x(at + 1)) / 2, x2: (x(at) + x(at + 1)) / 2, y1: top, y2: height - bottom});
  const sums = `The buffer has ${bytesText(network.io_bytes)}. The most that is alive at once is ${bytesText(most)}` +
    (steps ? `, at step ${at} (the dashed line)` : '') + `; without sharing, all tensors would take ${bytesText(all)}.`;
  say.textContent = sums;
  svg.addEventListener('pointerleave', () => { say.textContent = sums; });
  return number => blocks.forEach((block, i) => rects[i].classList.toggle('chosen', block.born === number));
}
