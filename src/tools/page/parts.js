'use strict';
// Functions that all parts of the page use. Texts of the network are inserted as text, never as markup.
const network = JSON.parse(document.getElementById('data').textContent);

function byId(id) {
  return document.getElementById(id);
}

function add(parent, name, attributes = {}, text = '') {
  const drawn = parent.namespaceURI === 'http://www.w3.org/2000/svg';
  const child = drawn || name === 'svg' ? document.createElementNS('http://www.w3.org/2000/svg', name) :
    document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
  if (text !== '') child.textContent = text;
  parent.append(child);
  return child;
}

function bytesText(bytes) {
  if (bytes < 1e3) return bytes + ' bytes';
  return bytes < 1e6 ? (bytes / 1e3).toFixed(1) + ' kB' : (bytes / 1e6).toFixed(2) + ' MB';
}

function timeText(us) {
  return us < 1e3 ? us.toFixed(1) + ' µs' : (us / 1e3).toFixed(2) + ' ms';
}

function macsText(macs) {
  return (macs / 1e6).toFixed(macs < 1e7 ? 2 : 1) + ' million';
}

// Returns a step's time in microseconds: measured here, or else estimated.
function timeOf(step) {
  return (network.measured_on ? step.measured_us : step.us) || 0;
}

function numberText(value) {
  return Number(value.toPrecision(4)).toString();
}

function cut(text, most) {
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}

function classOf(step) {
  return {device: 'device', once: 'once'}[step.where] || 'cpu';
}

// Returns a list of names and values.
function addFacts(parent, facts) {
  for (const [name, value] of facts) {
    const box = parent.id === 'facts' ? add(parent, 'div') : parent;
    add(box, 'dt', {}, name);
    add(box, 'dd', {}, String(value));
  }
}
