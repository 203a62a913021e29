// The graph of steps: one row per distance from the input, drawn once; zooming changes the viewBox alone.
const NODE = {width: 190, height: 46, gapX: 26, gapY: 34};

// Nodes with their places. Number -1 is the input.
function layOut(steps) {
  const nodes = new Map([[-1, {number: -1, row: 0, from: []}]]);
  steps.forEach((step, i) => {
    const from = step.from.length ? step.from : [];
    const row = 1 + Math.max(-1, ...from.map(k => nodes.get(k).row));
    nodes.set(i, {number: i, row, from});
  });
  const rows = [];
  for (const node of nodes.values()) (rows[node.row] = rows[node.row] || []).push(node);
  const pitch = NODE.width + NODE.gapX;
  for (const row of rows) {
    for (const node of row) {
      const xs = node.from.map(k => nodes.get(k).x);
      node.wish = xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : 0;
    }
    row.sort((a, b) => a.wish - b.wish || a.number - b.number);
    const middle = row.reduce((sum, node) => sum + node.wish, 0) / row.length;
    row.forEach((node, i) => {
      node.x = Math.max(node.wish, i ? row[i - 1].x + pitch : -Infinity);
      node.y = node.row * (NODE.height + NODE.gapY);
    });
    const shift = row.reduce((sum, node) => sum + node.x, 0) / row.length - middle;
    for (const node of row) node.x -= shift;
  }
  return nodes;
}

function edgePath(from, to) {
  const y0 = from.y + NODE.height, y1 = to.y;
  const bend = (y1 - y0) / 2;
  if (to.row - from.row < 2) return `M${from.x},${y0}C${from.x},${y0 + bend} ${to.x},${y1 - bend} ${to.x},${y1}`;
  // Past the rows between them, beside their nodes.
  const side = Math.max(from.x, to.x) + NODE.width * 0.5 + 14 + 5 * Math.min(8, to.row - from.row);
  return `M${from.x},${y0}C${from.x},${y0 + 30} ${side},${y0} ${side},${y0 + 40}` +
    `L${side},${y1 - 40}C${side},${y1} ${to.x},${y1 - 30} ${to.x},${y1}`;
}

class GraphView {
  constructor(svg, steps, choose) {
    this.svg = svg;
    this.steps = steps;
    this.choose = choose;
    this.nodes = layOut(steps);
    this.edges = [];
    this.draw();
    this.bounds = svg.firstChild.getBBox();
    this.showStart();
    this.listen();
  }

  draw() {
    const all = add(this.svg, 'g');
    for (const node of this.nodes.values()) {
      for (const k of node.from) {
        const path = add(all, 'path', {class: 'edge', d: edgePath(this.nodes.get(k), node)});
        this.edges.push({path, from: k, to: node.number});
      }
    }
    for (const node of this.nodes.values()) {
      const step = this.steps[node.number];
      const group = add(all, 'g', {class: 'node', transform: `translate(${node.x - NODE.width / 2},${node.y})`});
      add(group, 'rect', {width: NODE.width, height: NODE.height, rx: step ? 5 : 22, class: step ? classOf(step) : 'once'});
      add(group, 'text', {x: 10, y: 19}, step ? cut(node.number + ' ' + step.name, 27) : 'input');
      add(group, 'text', {x: 10, y: 36, class: 'faint'}, cut(step ? step.does : network.input.shape, 29));
      if (step) add(group, 'title', {}, step.name + '\n' + step.does);
      group.addEventListener('click', () => this.moved || (step && this.choose(node.number)));
      node.group = group;
    }
  }

  // The whole width, or the first rows of a long graph at a size that can be read.
  showStart() {
    const box = this.bounds;
    const shape = this.svg.clientWidth / this.svg.clientHeight;
    const width = Math.max(Math.min(box.width + 60, 1000), 4.5 * NODE.width);
    const middle = this.nodes.get(-1).x;
    this.setView({x: middle - width / 2, y: -20, width, height: width / shape});
  }

  showWhole() {
    const box = this.bounds;
    this.setView({x: box.x - 20, y: box.y - 20, width: box.width + 40, height: box.height + 40});
  }

  setView(view) {
    this.view = view;
    this.svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.width} ${view.height}`);
  }

  // Zooms by a factor around a point of the graph.
  zoom(factor, at) {
    const v = this.view;
    const point = at || {x: v.x + v.width / 2, y: v.y + v.height / 2};
    this.setView({x: point.x - (point.x - v.x) * factor, y: point.y - (point.y - v.y) * factor,
      width: v.width * factor, height: v.height * factor});
  }

  toGraph(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(this.svg.getScreenCTM().inverse());
  }

  listen() {
    this.svg.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this.toGraph(event));
    }, {passive: false});
    let held = null;
    this.svg.addEventListener('pointerdown', event => { held = this.toGraph(event); this.moved = false; });
    this.svg.addEventListener('pointermove', event => {
      if (!held) return;
      const now = this.toGraph(event);
      if (Math.hypot(now.x - held.x, now.y - held.y) > 4) this.moved = true;
      if (this.moved) this.setView({...this.view, x: this.view.x + held.x - now.x, y: this.view.y + held.y - now.y});
    });
    window.addEventListener('pointerup', () => { held = null; });
    this.svg.addEventListener('keydown', event => {
      const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (event.key === '+') this.zoom(0.8);
      if (event.key === '-') this.zoom(1.25);
      if (!way) return;
      event.preventDefault();
      this.setView({...this.view, x: this.view.x + 80 * way[0], y: this.view.y + 80 * way[1]});
    });
  }

  centre(number) {
    const node = this.nodes.get(number);
    this.setView({...this.view, x: node.x - this.view.width / 2, y: node.y - this.view.height / 2});
  }

  // Marks a step and the edges that end at it or begin there.
  mark(number) {
    for (const node of this.nodes.values()) node.group.classList.toggle('chosen', node.number === number);
    for (const edge of this.edges) {
      edge.path.classList.toggle('near', edge.from === number || edge.to === number);
    }
  }

  // Marks the steps whose texts have all words, and shows the first; returns how many there are.
  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = [];
    this.steps.forEach((step, i) => {
      const said = [i, step.name, step.does, step.where, step.why || '', ...step.layers].join(' ').toLowerCase();
      const hit = words.length > 0 && words.every(word => said.includes(word));
      if (hit) hits.push(i);
      this.nodes.get(i).group.classList.toggle('hit', hit);
      this.nodes.get(i).group.classList.toggle('miss', words.length > 0 && !hit);
    });
    if (hits.length) this.centre(hits[0]);
    return hits.length;
  }
}
