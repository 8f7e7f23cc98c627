// Small helpers to build HTML and SVG, in place of a framework.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;
type Child = Node | string | null | undefined;

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** The element's children are these now. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => child != null));
}

export interface Column {
  head: string;
  number?: boolean;
}

/** A table whose numbers keep all their digits in data-value. */
export function table(caption: string, columns: Column[], rows: (Child | Value)[][]): HTMLElement {
  const head = h('tr', {}, ...columns.map((each) => h('th', { scope: 'col', class: each.number ? 'n' : undefined }, each.head)));
  const body = rows.map((row) =>
    h('tr', {}, ...row.map((cell, i) => {
      const value = isValue(cell);
      return h('td', { class: columns[i]?.number ? 'n' : undefined, 'data-value': value ? cell.value : undefined, title: value ? cell.value : undefined },
        value ? cell.text : (cell as Child));
    })));
  return h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, ...body)));
}

/** Text for people with the number as the engine gave it. */
export interface Value {
  text: string;
  value: string;
}
function isValue(cell: unknown): cell is Value {
  return typeof cell === 'object' && cell !== null && 'value' in cell && 'text' in cell && !(cell instanceof Node);
}

/** A table that opens on demand, next to a chart. */
export function details(summary: string, ...children: Child[]): HTMLDetailsElement {
  return h('details', {}, h('summary', {}, summary), ...children);
}

// ---- Controls.

let ids = 0;
export function labelled(text: string, control: HTMLElement, hint?: string): HTMLElement {
  control.id ||= `c${++ids}`;
  return h('div', { class: 'control' }, h('label', { for: control.id }, text), control, hint ? h('small', {}, hint) : null);
}

export interface Choice {
  value: string;
  text?: string;
}
export function select(name: string, choices: Choice[], value: string, changed: (value: string) => void): HTMLSelectElement {
  const control = h('select', { name, change: () => changed(control.value) },
    ...choices.map((each) => h('option', { value: each.value, selected: each.value === value }, each.text ?? each.value)));
  return control;
}

export function slider(
  name: string, range: { min: number; max: number; step?: number }, value: number, text: (n: number) => string,
  changed: (value: number) => void,
): HTMLElement {
  const shown = h('output', {}, text(value));
  const control = h('input', {
    type: 'range', name, min: range.min, max: range.max, step: range.step ?? 1, value, 'aria-valuetext': text(value),
    input: () => {
      const n = Number(control.value);
      shown.textContent = text(n);
      control.setAttribute('aria-valuetext', text(n));
      changed(n);
    },
  });
  return h('span', { class: 'slider' }, control, shown);
}

/** A labelled slider. */
export function range(
  label: string, name: string, bounds: { min: number; max: number; step?: number }, value: number,
  text: (n: number) => string, changed: (value: number) => void,
): HTMLElement {
  const wrapped = slider(name, bounds, value, text, changed);
  const input = wrapped.querySelector('input')!;
  input.id = `c${++ids}`;
  return h('div', { class: 'control' }, h('label', { for: input.id }, label), wrapped);
}

export function button(text: string, label: string, pressed: () => void, extra: Attributes = {}): HTMLButtonElement {
  return h('button', { type: 'button', 'aria-label': label === text ? undefined : label, title: label, click: pressed, ...extra }, text);
}

/** Calls at most once per frame, with the last arguments. */
export function perFrame<A extends unknown[]>(act: (...args: A) => void): (...args: A) => void {
  let waiting = false;
  let last: A;
  return (...args: A) => {
    last = args;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      act(...last);
    });
  };
}
