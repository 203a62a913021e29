// A small view of the whole graph, with a frame around the visible part. A click moves the frame.
class Overview {
  constructor(svg, graph) {
    this.svg = svg;
    const box = graph.bounds;
    const all = add(svg, 'g');
    svg.setAttribute('viewBox', `${box.x - 40} ${box.y - 40} ${box.width + 80} ${box.height + 80}`);
    // Widens a tall graph, so that its nodes can be seen.
    svg.setAttribute('preserveAspectRatio', 'none');
    this.rects = new Map();
    for (const node of graph.nodes.values()) {
      const step = graph.steps[node.number];
      this.rects.set(node.number, add(all, 'rect', {x: node.x - NODE.width / 2, y: node.y, width: NODE.width,
        height: NODE.height, class: step ? classOf(step) : 'once', 'vector-effect': 'non-scaling-stroke'}));
    }
    this.frame = add(svg, 'rect', {class: 'seen'});
    const go = event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      graph.setView({...graph.view, x: point.x - graph.view.width / 2, y: point.y - graph.view.height / 2});
    };
    svg.addEventListener('pointerdown', go);
    svg.addEventListener('pointermove', event => event.buttons && go(event));
  }

  show(wanted) {
    this.svg.toggleAttribute('hidden', !wanted);
  }

  follow(view) {
    for (const [name, value] of Object.entries(view)) this.frame.setAttribute(name, value);
  }

  mark(hits) {
    for (const [number, rect] of this.rects) rect.classList.toggle('hit', hits.includes(number));
  }
}
// The graph of steps, with a row per distance from the input. It is drawn once; zooming changes only the viewBox.
const NODE = {width: 240, height: 48, gapX: 26, gapY: 34};

// Returns the row of each node: that after the last one that it reads. Steps without an input (computed once, at load)
// are just above the first step that reads them. Number -1 is the input.
function rowsOf(steps) {
  const rows = new Map([[-1, 0]]);
  steps.forEach((step, i) => rows.set(i, 1 + Math.max(-1, ...step.from.map(k => rows.get(k)))));
  const readers = new Map();
  steps.forEach((step, i) => step.from.forEach(k => readers.set(k, Math.min(rows.get(i), readers.get(k) ?? Infinity))));
  for (let i = steps.length - 1; i >= 0; --i) {
    if (steps[i].where === 'once' && !steps[i].from.some(k => k < 0 || steps[k].where !== 'once') && readers.has(i)) {
      rows.set(i, Math.max(rows.get(i), readers.get(i) - 1));
      steps[i].from.forEach(k => readers.set(k, rows.get(i)));
    }
  }
  return rows;
}

// Returns the nodes with their places.
function layOut(steps) {
  const nodes = new Map(), rows = [];
  for (const [number, row] of rowsOf(steps)) {
    const node = {number, row, from: number < 0 ? [] : steps[number].from};
    nodes.set(number, node);
    (rows[row] = rows[row] || []).push(node);
  }
  const pitch = NODE.width + NODE.gapX;
  for (const row of rows.filter(Boolean)) {
    for (const node of row) {
      const xs = node.from.map(k => nodes.get(k).x);
      node.wish = xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : 0;
    }
    // Steps that do not depend on the input are to the right of those that do.
    const farRight = Math.max(0, ...row.filter(node => node.from.length).map(node => node.wish)) + pitch;
    for (const node of row) if (!node.from.length && node.number >= 0) node.wish = farRight;
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
  // The edge passes the rows in between beside their nodes.
  const side = Math.max(from.x, to.x) + NODE.width * 0.5 + 14 + 5 * Math.min(8, to.row - from.row);
  return `M${from.x},${y0}C${from.x},${y0 + 30} ${side},${y0} ${side},${y0 + 40}` +
    `L${side},${y1 - 40}C${side},${y1} ${to.x},${y1 - 30} ${to.x},${y1}`;
}

class GraphView {
  constructor(svg, map, hint, steps, choose) {
    Object.assign(this, {svg, hint, steps, choose});
    this.nodes = layOut(steps);
    this.edges = [];
    this.draw();
    this.bounds = svg.firstChild.getBBox();
    this.overview = new Overview(map, this);
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
    const most = Math.max(...this.steps.map(timeOf));
    for (const node of this.nodes.values()) {
      const step = this.steps[node.number];
      const group = add(all, 'g', {class: 'node', transform: `translate(${node.x - NODE.width / 2},${node.y})`});
      add(group, 'rect', {width: NODE.width, height: NODE.height, rx: step ? 5 : 22, class: step ? classOf(step) : 'once'});
      const shape = step ? (step.outputs.length ? step.outputs[0].shape : '') : network.input.shape;
      add(group, 'text', {x: 10, y: 18}, step ? cut(node.number + ' ' + step.name, 33) : 'input');
      add(group, 'text', {x: 10, y: 35, class: 'faint'}, step ? cut(step.does, 29 - shape.length) : shape);
      if (step) {
        add(group, 'text', {x: NODE.width - 8, y: 35, class: 'faint', 'text-anchor': 'end'}, shape);
        const share = most > 0 ? timeOf(step) / most : 0;
        if (share > 0.005) add(group, 'rect', {x: 6, y: NODE.height - 6, height: 3, width: share * (NODE.width - 12), class: 'share'});
        add(group, 'title', {}, `${step.name}\n${step.does}\n${shape}`);
      }
      group.addEventListener('click', () => this.moved || (step && this.choose(node.number)));
      node.group = group;
    }
  }

  // Shows the whole graph if that is legible, or else its beginning at its own size.
  showStart() {
    const {clientWidth, clientHeight} = this.svg;
    const whole = Math.max(this.bounds.width / clientWidth, this.bounds.height / clientHeight);
    this.overview.show(whole > 1.25);
    if (whole <= 1.25) return this.showWhole();
    const scale = this.svg.clientWidth < 600 ? 1.2 : 1;
    const width = this.svg.clientWidth * scale, x = this.nodes.get(-1).x - width / 2;
    this.setView({x, y: -20, width, height: this.svg.clientHeight * scale});
  }

  showWhole() {
    const box = this.bounds;
    this.setView({x: box.x - 20, y: box.y - 20, width: box.width + 40, height: box.height + 40});
  }

  setView(view) {
    this.view = view;
    this.svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.width} ${view.height}`);
    this.overview.follow(view);
  }

  // Zooms by a factor around a point of the graph, within limits.
  zoom(factor, at) {
    const v = this.view;
    const larger = Math.max(this.bounds.width, this.bounds.height) * 2;
    if (factor < 1 ? v.width < NODE.width : Math.min(v.width, v.height) > larger) return;
    const point = at || {x: v.x + v.width / 2, y: v.y + v.height / 2};
    this.setView({x: point.x - (point.x - v.x) * factor, y: point.y - (point.y - v.y) * factor,
      width: v.width * factor, height: v.height * factor});
  }

  move(x, y) {
    this.setView({...this.view, x: this.view.x + x, y: this.view.y + y});
  }

  toGraph(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(this.svg.getScreenCTM().inverse());
  }

  listen() {
    const svg = this.svg;
    // The wheel scrolls the page, unless the graph has the focus or a key is held.
    svg.addEventListener('wheel', event => {
      const meant = event.ctrlKey || event.metaKey || document.activeElement === svg;
      this.hint.hidden = meant;
      clearTimeout(this.hintEnds);
      this.hintEnds = setTimeout(() => { this.hint.hidden = true; }, 1500);
      if (!meant) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this.toGraph(event));
    }, {passive: false});
    // One finger or the mouse moves the graph, two fingers zoom.
    const held = new Map();
    const apart = () => {
      const [a, b] = held.values();
      return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    };
    svg.addEventListener('pointerdown', event => {
      held.set(event.pointerId, event);
      if (held.size === 1) [this.from, this.moved] = [this.toGraph(event), false];
    });
    svg.addEventListener('pointermove', event => {
      if (!held.has(event.pointerId)) return;
      if (held.size === 2) {
        const before = apart();
        held.set(event.pointerId, event);
        const [a, b] = held.values();
        const middle = {clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2};
        if (apart() > 0) this.zoom(before / apart(), this.toGraph(middle));
        this.moved = true;
        return;
      }
      const now = this.toGraph(event);
      if (Math.hypot(now.x - this.from.x, now.y - this.from.y) > 4) this.moved = true;
      if (this.moved) this.move(this.from.x - now.x, this.from.y - now.y);
    });
    for (const name of ['pointerup', 'pointercancel']) {
      window.addEventListener(name, event => {
        held.delete(event.pointerId);
        const [left] = held.values();
        if (left) this.from = this.toGraph(left);
      });
    }
    svg.addEventListener('keydown', event => {
      const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (event.key === '+') this.zoom(0.8);
      if (event.key === '-') this.zoom(1.25);
      if (!way) return;
      event.preventDefault();
      this.move(80 * way[0], 80 * way[1]);
    });
  }

  // Shows a step in the middle, at a legible size.
  centre(number) {
    const node = this.nodes.get(number);
    const shrink = Math.min(1, 1.6 * this.svg.clientWidth / this.view.width);
    const width = this.view.width * shrink, height = this.view.height * shrink;
    this.setView({x: node.x - width / 2, y: node.y + NODE.height / 2 - height / 2, width, height});
  }

  // Marks a step and its edges.
  mark(number) {
    for (const node of this.nodes.values()) node.group.classList.toggle('chosen', node.number === number);
    for (const edge of this.edges) {
      edge.path.classList.toggle('near', edge.from === number || edge.to === number);
    }
  }

  // Marks the steps whose texts contain all words, and returns their numbers.
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
    this.overview.mark(hits);
    return hits;
  }
}
