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
