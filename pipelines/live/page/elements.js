// SPDX-License-Identifier: Apache-2.0
// Makes elements of the page. Texts become text, never markup.

export function add(parent, tag, kind, text) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
}

export function button(parent, text, act, kind) {
  const element = add(parent, "button", kind, text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

// A field with its name; `act` gets the value when it has changed.
export function field(parent, name, value, act, more = {}) {
  const around = add(parent, "label");
  add(around, "span", "", name);
  const input = add(around, "input");
  Object.assign(input, {type: "text", value, autocomplete: "off", ...more});
  input.addEventListener("change", () => act(input.value, input));
  return input;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
