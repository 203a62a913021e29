// The page of dvnet evaluate: its data is what --json prints, and the worst pictures.
const report = network, {data, networks} = report, detects = networks.some(of => of.detection);

const FIGURES = [['ap', 'AP'], ['ap50', 'AP50'], ['ap75', 'AP75'], ['ap_small', 'AP small'], ['ap_medium', 'AP medium'],
  ['ap_large', 'AP large'], ['ar1', 'AR1'], ['ar10', 'AR10'], ['ar100', 'AR100']];
const figureText = value => value === null || value === undefined ? '–' : value.toFixed(3);
const percentText = value => (100 * value).toFixed(1) + ' %';
const baseName = path => path.split('/').pop();

// Rows of cells; a cell is a text, or a text and what stands small below it.
function fillTable(table, heads, rows, choose) {
  const head = add(add(table, 'thead'), 'tr'), body = add(table, 'tbody');
  for (const text of heads) add(head, 'th', {}, text);
  rows.forEach((cells, i) => {
    const row = add(body, 'tr', choose ? {class: 'choice'} : {});
    for (const cell of cells) {
      const [text, small] = Array.isArray(cell) ? cell : [cell, ''];
      const place = add(row, 'td', {}, text);
      if (small) add(place, 'small', {}, small);
    }
    if (choose) row.addEventListener('click', () => choose(i));
  });
  return [...body.children];
}

const TRACK_FIGURES = [['hota', 'HOTA'], ['det_a', 'DetA'], ['ass_a', 'AssA'], ['loc_a', 'LocA'], ['mota', 'MOTA'], ['idf1', 'IDF1']];
const TRACK_COUNTS = [['switches', 'switches'], ['fragments', 'fragments'], ['missed', 'missed'], ['false', 'false']];

// Rows of a name and the figures of tracks.
function fillTracks(table, head, rows, choose) {
  table.replaceChildren();
  fillTable(table, [head, ...TRACK_FIGURES.map(([, name]) => name), ...TRACK_COUNTS.map(([, name]) => name)],
    rows.map(([name, of]) => [name, ...TRACK_FIGURES.map(([key]) => figureText(of[key])), ...TRACK_COUNTS.map(([key]) => String(of[key]))]),
    choose);
}

function showNetworks() {
  const interval = (of, name) => of && of.intervals && of.intervals[name] && of.intervals[name][0] !== null ?
    of.intervals[name].map(figureText).join('–') : '';
  if (detects) {
    fillTable(byId('networks'), ['network', ...FIGURES.map(([, head]) => head)], networks.map(({network: path, detection}) =>
      [baseName(path), ...FIGURES.map(([name]) => [figureText(detection && detection.figures[name]), interval(detection, name)])]), show);
    const masked = networks.filter(of => of.detection && of.detection.masks);
    byId('mask-text').hidden = !masked.length;
    if (masked.length) {
      fillTable(byId('masks'), ['network, masks', ...FIGURES.map(([, head]) => head)], masked.map(({network: path, detection}) =>
        [baseName(path), ...FIGURES.map(([name]) => figureText(detection.masks[name]))]));
    }
  } else if (networks[0].segmentation) {
    fillTable(byId('networks'), ['network', 'mIoU', 'accuracy'], networks.map(({network: path, segmentation: of}) =>
      [baseName(path), figureText(of.miou), figureText(of.accuracy)]), show);
  } else if (networks[0].reading) {
    fillTable(byId('networks'), ['network', 'texts', 'exact', 'CER', 'WER'], networks.map(({network: path, reading: of}) =>
      [baseName(path), String(of.texts), [figureText(of.exact), interval(of, 'exact')], [figureText(of.cer), interval(of, 'cer')],
        figureText(of.wer)]), show);
  } else if (networks[0].embeddings) {
    fillTable(byId('networks'), ['network', 'queries', 'rank 1', 'rank 5', 'mAP'], networks.map(({network: path, embeddings: of}) =>
      [baseName(path), String(of.queries), figureText(of.rank1), figureText(of.rank5), figureText(of.map)]), show);
  } else if (networks[0].classification) {
    fillTable(byId('networks'), ['network', 'pictures', 'top-1', 'top-5'], networks.map(({network: path, classification: of}) =>
      [baseName(path), String(of.pictures), [figureText(of.top1), interval(of, 'top1')],
        [figureText(of.top5), interval(of, 'top5')]]), show);
  }
}

function colorOf(i, count) {
  return `hsl(${(360 * i / Math.max(1, count) + 210) % 360} 65% 50%)`;
}

const PLOT = {left: 52, top: 14, width: 570, height: 360};
const plotX = recall => PLOT.left + PLOT.width * recall;
const plotY = precision => PLOT.top + PLOT.height * (1 - precision);

function drawCurves(svg, classes, choose) {
  svg.replaceChildren();
  for (let i = 0; i <= 10; i += 2) {
    add(svg, 'line', {class: 'grid', x1: plotX(i / 10), x2: plotX(i / 10), y1: plotY(0), y2: plotY(1)});
    add(svg, 'line', {class: 'grid', x1: plotX(0), x2: plotX(1), y1: plotY(i / 10), y2: plotY(i / 10)});
    add(svg, 'text', {class: 'faint', x: plotX(i / 10), y: plotY(0) + 18, 'text-anchor': 'middle'}, (i / 10).toFixed(1));
    add(svg, 'text', {class: 'faint', x: plotX(0) - 8, y: plotY(i / 10) + 4, 'text-anchor': 'end'}, (i / 10).toFixed(1));
  }
  add(svg, 'text', {class: 'faint', x: plotX(0.5), y: plotY(0) + 36, 'text-anchor': 'middle'}, 'recall');
  add(svg, 'text', {class: 'faint', x: 14, y: plotY(0.5), transform: `rotate(-90 14 ${plotY(0.5)})`, 'text-anchor': 'middle'}, 'precision');
  return classes.map((of, i) => {
    const group = add(svg, 'g'), color = colorOf(i, classes.length);
    // From the largest recall on the precision is 0: the curve ends there.
    const points = of.curve.map((precision, k) => [k / 100, precision]).filter(([, precision]) => precision > 0);
    const path = points.map(([recall, precision], k) => `${k ? 'L' : 'M'}${plotX(recall)} ${plotY(precision)}`).join('');
    add(add(group, 'path', {d: path, stroke: color}), 'title', {}, of.label);
    add(group, 'circle', {cx: plotX(of.recall), cy: plotY(of.precision), r: 5, fill: color});
    group.addEventListener('click', () => choose(i));
    return group;
  });
}

// The metric of --quantize against the bytes of weights; the dot is what was written.
function showBytes(of) {
  const {points, layers, metric, chosen} = of, svg = byId('byte-curve');
  const bytes = points.map(point => point.bytes), values = points.map(point => point.value);
  const [left, right] = [Math.min(...bytes), Math.max(...bytes)], low = Math.floor(Math.min(...values) * 20) / 20;
  const high = Math.max(Math.ceil(Math.max(...values) * 20) / 20, low + 0.05);
  const x = value => PLOT.left + PLOT.width * (value - left) / (right - left);
  const y = value => PLOT.top + PLOT.height * (high - value) / (high - low);
  for (let i = 0; i <= 5; ++i) {
    const across = left + (right - left) * i / 5, up = low + (high - low) * i / 5;
    add(svg, 'line', {class: 'grid', x1: x(across), x2: x(across), y1: y(low), y2: y(high)});
    add(svg, 'line', {class: 'grid', x1: x(left), x2: x(right), y1: y(up), y2: y(up)});
    add(svg, 'text', {class: 'faint', x: x(across), y: y(low) + 18, 'text-anchor': i === 5 ? 'end' : 'middle'}, bytesText(across));
    add(svg, 'text', {class: 'faint', x: PLOT.left - 8, y: y(up) + 4, 'text-anchor': 'end'}, up.toFixed(2));
  }
  add(svg, 'text', {class: 'faint', x: x((left + right) / 2), y: y(low) + 36, 'text-anchor': 'middle'}, 'weights');
  add(svg, 'text', {class: 'faint', x: 14, y: y((low + high) / 2), transform: `rotate(-90 14 ${y((low + high) / 2)})`, 'text-anchor': 'middle'}, metric);
  const group = add(svg, 'g');
  add(group, 'path', {d: points.map((point, i) => `${i ? 'L' : 'M'}${x(point.bytes)} ${y(point.value)}`).join(''), stroke: colorOf(0, 1)});
  points.forEach((point, i) => {
    const dot = add(group, 'circle', {cx: x(point.bytes), cy: y(point.value), r: i === chosen ? 6 : 3, fill: colorOf(i === chosen ? 1 : 0, 2)});
    add(dot, 'title', {}, `${point.layers} layers with 8 bits: ${bytesText(point.bytes)}, ${metric} ${point.value.toFixed(4)}`);
  });
  const best = points[chosen];
  byId('spent').textContent = `${baseName(of.network)} has 8 bits in ${best.layers} of ${layers.length} layers: ` +
    `${bytesText(best.bytes)} of ${bytesText(points[0].bytes)}, ${metric} ${best.value.toFixed(4)} of ${points[0].value.toFixed(4)}. ` +
    'Layers get 8 bits in the order of what that costs alone, for each byte that it saves: the list has both.';
  fillTable(byId('byte-layers'), ['layer', 'saves', 'loses'],
    layers.map(layer => [layer.layer, bytesText(layer.saved), layer.loss.toFixed(4)]));
}

// Pictures on which two devices give other outputs, of each network that ran on both.
function showDevices(compared) {
  for (const {network: path, difference: {pictures, other}} of compared) {
    const objects = pictures.filter(picture => picture.objects).length;
    add(byId('devices-text'), 'p', {}, `${baseName(path)} against ${baseName(other)}: outputs are the same on ` +
      `${data.pictures - pictures.length} of ${data.pictures} pictures, and objects on ${data.pictures - objects}.`);
  }
  const rows = compared.flatMap(({network: path, difference: {pictures}}) => pictures.map(picture =>
    [baseName(picture.picture), baseName(path), picture.output, String(picture.values),
      picture.largest === null ? 'no number' : picture.largest.toPrecision(3), picture.objects ? 'others' : 'the same']));
  if (rows.length) {
    fillTable(byId('differences'), ['picture', 'network', 'output', 'values that differ', 'by up to', 'objects'], rows);
  }
}

function showClasses(of) {
  const curves = [], rows = [];
  let alone = -1;
  const choose = i => {
    alone = alone === i ? -1 : i;
    curves.forEach((curve, k) => curve.classList.toggle('dim', alone >= 0 && alone !== k));
    rows.forEach((row, k) => row.classList.toggle('chosen', alone === k));
  };
  curves.push(...drawCurves(byId('curves'), of.classes, choose));
  byId('classes').replaceChildren();
  rows.push(...fillTable(byId('classes'), ['class', 'objects', 'AP', 'AP50', 'AP75', 'threshold', 'precision', 'recall', 'F1'],
    of.classes.map(c => [c.label, String(c.objects), figureText(c.figures.ap), figureText(c.figures.ap50),
      figureText(c.figures.ap75), [String(c.threshold), c.reached ? '' : 'precision not reached'], percentText(c.precision),
      percentText(c.recall), figureText(c.f1)]), choose));
  rows.forEach((row, i) => { row.firstChild.style.color = colorOf(i, of.classes.length); });
}

function showConfusion(of) {
  const table = byId('confusion');
  table.replaceChildren();
  const key = name => name === null ? 'nothing' : 'class ' + name;
  const used = new Set(of.confusion.flatMap(cell => [key(cell.is), key(cell.found)]));
  const names = [...data.classes, null].filter(name => used.has(key(name)));
  const count = (is, found) => (of.confusion.find(cell => cell.is === is && cell.found === found) || {count: 0}).count;
  const text = name => name === null ? 'nothing' : name;
  const head = add(add(table, 'thead'), 'tr');
  for (const name of ['', ...names.map(text)]) add(head, 'th', {}, name);
  const body = add(table, 'tbody');
  for (const is of names) {
    const row = add(body, 'tr');
    add(row, 'th', {}, text(is));
    for (const found of names) {
      const number = count(is, found), none = is === null && found === null;
      add(row, 'td', {class: number === 0 ? 'zero' : is === found ? 'right' : ''}, none ? '' : String(number));
    }
  }
}

function drawPicture(parent, picture) {
  const svg = add(parent, 'svg', {viewBox: `0 0 ${picture.width} ${picture.height}`});
  add(svg, 'image', {href: picture.image, width: picture.width, height: picture.height});
  for (const {box: [x, y, width, height], state, text} of picture.boxes) {
    add(add(svg, 'rect', {class: state, x, y, width, height}), 'title', {}, text);
  }
  return svg;
}

function showWorst(of) {
  byId('worst').replaceChildren();
  for (const picture of of.worst) {
    const figure = add(byId('worst'), 'figure', {tabindex: 0});
    drawPicture(figure, picture);
    add(figure, 'figcaption', {}, `${baseName(picture.path)}: ${picture.mistakes} mistake${picture.mistakes === 1 ? '' : 's'}`);
    const open = () => {
      const dialog = byId('large');
      dialog.replaceChildren();
      add(dialog, 'h3', {}, picture.path);
      drawPicture(dialog, picture);
      const list = add(dialog, 'ul');
      for (const {text} of picture.boxes) add(list, 'li', {}, text);
      dialog.showModal();
    };
    figure.addEventListener('click', open);
    figure.addEventListener('keydown', event => { if (event.key === 'Enter') open(); });
  }
  if (!of.worst.length) add(byId('worst'), 'p', {}, 'No picture has a mistake.');
}

function show(number) {
  const {network: path, detection, classification, segmentation, reading, embeddings, tracking, missing, foreign} = networks[number];
  byId('chosen').textContent = path;
  [...byId('choices').children].forEach((button, i) => button.setAttribute('aria-pressed', i === number));
  byId('warnings').replaceChildren();
  const tell = (names, what) => { if (names.length) add(byId('warnings'), 'li', {}, `${what}: ${names.join(', ')}`); };
  tell(missing, 'The network does not know, and they do not count');
  tell(foreign, 'The data does not have, and they do not count');
  if (tracking) {
    fillTracks(byId('sequences'), 'sequence', [...tracking.sequences.map(of => [of.sequence, of.figures]),
      ...(tracking.classes.length > 1 ? tracking.classes.map(of => [`all, ${of.label}`, of.figures]) : [])]);
  }
  for (const section of document.querySelectorAll('.detection')) section.hidden = !detection;
  byId('row-section').hidden = tracking && !detection;
  if (detection) {
    byId('thresholds').textContent = `thresholds="${detection.thresholds}"`;
    showClasses(detection);
    showConfusion(detection);
    showWorst(detection);
  } else if (segmentation) {
    byId('classes').replaceChildren();
    fillTable(byId('classes'), ['class', 'pixels', 'IoU'],
      segmentation.classes.map(c => [c.label, String(c.pixels), figureText(c.iou)]));
  } else if (reading) {
    byId('classes').replaceChildren();
    fillTable(byId('classes'), ['misread picture', 'is', 'read'], reading.misread.map(of => [baseName(of.picture), of.is, of.read]));
  } else if (embeddings) {
    byId('classes').replaceChildren();
    fillTable(byId('classes'), ['false accepts, at most', 'true accepts', 'from a cosine of'],
      embeddings.rates.map(of => [String(of.false_accepts), figureText(of.true_accepts), figureText(of.threshold)]));
  } else if (classification) {
    byId('classes').replaceChildren();
    fillTable(byId('classes'), ['class', 'pictures', 'top-1', 'top-5'],
      classification.classes.map(c => [c.class, String(c.pictures), figureText(c.top1), figureText(c.top5)]));
  }
}

document.title = byId('name').textContent = baseName(data.source) + ', evaluated';
byId('source').textContent = `${data.source} (${data.annotations}): ${data.pictures} pictures` +
  (data.objects ? `, ${data.objects} objects` : '') + (data.classes ? ` of ${data.classes.length} classes` : '') +
  (data.sequences ? ` in ${data.sequences} sequences` : '');
byId('about').textContent = networks[0].segmentation ? 'Mean over classes of intersection over union, and share of right pixels.' :
  detects ? 'Average precision and recall by COCO\'s rules; small: 95 % of samples of the pictures.' :
  networks[0].reading ? 'Shares of exact texts and of wrong characters and words; small: 95 % of samples of the pictures.' :
  networks[0].embeddings ? 'Each picture is looked for among all others; and all pairs of pictures are compared.' :
  'Shares of pictures whose class is the most confident one, or among five; small: 95 % of samples of the pictures.';
if (networks[0].reading) byId('rows').textContent = 'Misread';
if (networks[0].embeddings) byId('rows').textContent = 'Accepted pairs';
showNetworks();
for (const section of document.querySelectorAll('.tracking')) section.hidden = !networks[0].tracking;
byId('networks').closest('section').hidden = !!networks[0].tracking && !detects;
if (networks[0].tracking) fillTracks(byId('tracks'), 'network', networks.map(({network: path, tracking}) => [baseName(path), tracking.figures]), show);
byId('bytes').hidden = !report.quantized;
if (report.quantized) showBytes(report.quantized);
const compared = networks.filter(of => of.difference);
byId('devices').hidden = !compared.length;
showDevices(compared);
byId('which').hidden = networks.length < 2;
networks.forEach(({network: path}, i) => {
  add(byId('choices'), 'button', {}, baseName(path)).addEventListener('click', () => show(i));
});
byId('copy').addEventListener('click', () => navigator.clipboard.writeText(byId('thresholds').textContent));
byId('large').addEventListener('click', () => byId('large').close());
show(0);
