/** The treemap's page: boxes that mouse, keyboard and screen readers reach alike. */
import {Box, squarify} from '../objects/treemap';
import {FromPage, ToPage, TreemapBy, TreemapItem} from '../objects/treemap-messages';
import {part} from './parts';

declare function acquireVsCodeApi(): {postMessage(message: FromPage): void; setState(state: unknown): void};

const api = acquireVsCodeApi();
const namespace = 'http://www.w3.org/2000/svg';
const colours = 6;

const map = part('map', SVGSVGElement);
const chosen = part('chosen', HTMLElement);
const total = part('total', HTMLElement);
const empty = part('empty', HTMLElement);
const problem = part('problem', HTMLElement);

const nothing = 'Nothing is in the object store. What ray.put() is given and what tasks return is drawn here, as long as a program refers to it.';

let items: TreemapItem[] = [];
let boxes: Box[] = [];
let focused = 0;

function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function describe(item: TreemapItem): string {
  return [item.label, item.size, item.detail].filter(Boolean).join(', ');
}

/** A colour that stays with the thing, whatever its size. */
function colourOf(label: string): number {
  let sum = 0;
  for (const letter of label) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return sum % colours;
}

function boxOf(item: TreemapItem, box: Box, index: number): SVGElement {
  const group = svg('g', {role: 'listitem', tabindex: index === focused ? 0 : -1, 'aria-label': describe(item),
    class: `box colour-${colourOf(item.label)}${item.opens ? ' opens' : ''}`, transform: `translate(${box.x} ${box.y})`});
  group.append(svg('rect', {width: Math.max(box.width - 2, 0), height: Math.max(box.height - 2, 0), rx: 3}));
  if (box.height > 22 && box.width > 50) group.append(textOf(item.label, 16, box.width, 'name'));
  if (box.height > 40 && box.width > 50) group.append(textOf(item.size, 33, box.width, 'size'));
  group.addEventListener('focus', () => choose(index));
  group.addEventListener('mouseenter', () => (chosen.textContent = describe(item)));
  group.addEventListener('click', () => {
    (group as SVGGElement).focus();
    open(index);
  });
  return group;
}

/** Cut to the box's width: a letter is some 7 px wide. */
function textOf(text: string, y: number, width: number, kind: string): SVGElement {
  const room = Math.floor((width - 14) / 7);
  const element = svg('text', {x: 7, y, class: kind});
  element.textContent = text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}…` : text;
  return element;
}

function choose(index: number): void {
  map.children[focused]?.setAttribute('tabindex', '-1');
  focused = index;
  map.children[focused]?.setAttribute('tabindex', '0');
  const item = items[index];
  if (item) chosen.textContent = describe(item);
}

function open(index: number): void {
  if (items[index]?.opens) api.postMessage({kind: 'open', index});
}

function draw(): void {
  const {width, height} = map.getBoundingClientRect();
  const had = map.contains(document.activeElement);
  focused = Math.min(focused, Math.max(items.length - 1, 0));
  boxes = items.length && width > 0 && height > 0 ? squarify(items.map((item) => item.bytes), {x: 0, y: 0, width, height}) : [];
  map.replaceChildren(...boxes.flatMap((box, index) => {
    const item = items[index];
    return item ? [boxOf(item, box, index)] : [];
  }));
  if (had) (map.children[focused] as SVGGElement | undefined)?.focus();
}

/** The nearest box on that side of the focused one. */
function neighbour(dx: number, dy: number): number {
  const from = boxes[focused];
  if (!from) return focused;
  const middle = (box: Box): [number, number] => [box.x + box.width / 2, box.y + box.height / 2];
  const [x, y] = middle(from);
  let best = focused;
  let least = Infinity;
  boxes.forEach((box, index) => {
    const [otherX, otherY] = middle(box);
    const along = (otherX - x) * dx + (otherY - y) * dy;
    const across = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
    if (index === focused || along <= 0 || along + 2 * across >= least) return;
    best = index;
    least = along + 2 * across;
  });
  return best;
}

const directions: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

map.addEventListener('keydown', (event) => {
  const direction = directions[event.key];
  if (direction) (map.children[neighbour(...direction)] as SVGGElement | undefined)?.focus();
  else if (event.key === 'Home') (map.children[0] as SVGGElement | undefined)?.focus();
  else if (event.key === 'End') (map.lastElementChild as SVGGElement | null)?.focus();
  else if (event.key === 'Enter' || event.key === ' ') open(focused);
  else return;
  event.preventDefault();
});

const choices = document.querySelectorAll<HTMLInputElement>('input[name=by]');
for (const input of choices)
  input.addEventListener('change', () => api.postMessage({kind: 'by', by: input.value as TreemapBy}));

window.addEventListener('message', (event: MessageEvent<ToPage>) => {
  const message = event.data;
  problem.textContent = message.kind === 'problem' ? message.text : '';
  if (message.kind === 'problem' && !items.length) empty.textContent = 'What is in the object store is not known.';
  if (message.kind !== 'items') return;
  empty.textContent = nothing;
  document.body.classList.toggle('filled', message.items.length > 0);
  ({items} = message);
  for (const input of choices) input.checked = input.value === message.by; // a page that was hidden begins anew
  total.textContent = items.length ? `Object Store · ${message.total}` : 'Object Store · nothing is in it';
  draw();
});
new ResizeObserver(draw).observe(map);
api.postMessage({kind: 'ready'});
