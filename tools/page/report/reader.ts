/// Reads values off the figures: hover, tap, or focus a figure and use the arrow keys.

const kSvg = 'http://www.w3.org/2000/svg';

interface Mark {
  element: SVGGElement;
  title: Element; // its text may change
}

function marksOf(svg: SVGSVGElement): Mark[] {
  const out: Mark[] = [];
  const hasValues = svg.querySelector('g.value') !== null;
  for (const element of svg.querySelectorAll('g')) {
    const title = [...element.children].find((child) => child.tagName === 'title');
    if (!title?.textContent) continue;
    // A group of others that can be read says what they are about, and is no value.
    if (element.querySelector(':scope g > title') || (hasValues && element.classList.contains('curve'))) continue;
    element.dataset.read = '';
    out.push({ element, title });
  }
  return out;
}

/// A frame around a mark, black on white.
export function frameAround(svg: SVGSVGElement, box: DOMRect | { x: number; y: number; width: number; height: number }, kind: string): SVGGElement {
  const group = document.createElementNS(kSvg, 'g');
  group.setAttribute('class', `marker ${kind}`);
  for (const [color, width] of [['#ffffff', 5], ['#000000', 2.5]] as const) {
    const rect = document.createElementNS(kSvg, 'rect');
    rect.setAttribute('x', String(box.x - 2));
    rect.setAttribute('y', String(box.y - 2));
    rect.setAttribute('width', String(box.width + 4));
    rect.setAttribute('height', String(box.height + 4));
    rect.setAttribute('fill', 'none');
    rect.setAttribute('stroke', color);
    rect.setAttribute('stroke-width', String(width));
    group.append(rect);
  }
  svg.append(group);
  return group;
}

class Reader {
  private readonly line = document.createElement('p');
  private at = -1;

  constructor(figure: HTMLElement, private readonly svg: SVGSVGElement, private readonly marks: Mark[]) {
    this.line.className = 'reader live-only idle';
    this.line.setAttribute('role', 'status');
    this.line.textContent = this.hint();
    figure.after(this.line);
    svg.addEventListener('pointerover', (event) => {
      const found = (event.target as Element).closest<SVGGElement>('[data-read]');
      const index = this.marks.findIndex((mark) => mark.element === found);
      if (index >= 0) this.show(index);
    });
    figure.addEventListener('keydown', (event) => this.key(event));
    figure.addEventListener('blur', () => this.clear());
  }

  private hint(): string {
    return `${this.marks.length} values: point at them, or use ← and →`;
  }
  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (event.key === 'Home') this.show(0);
    else if (event.key === 'End') this.show(this.marks.length - 1);
    else if (event.key === 'Escape') this.clear();
    else if (step) this.show(Math.min(Math.max(0, this.at + step), this.marks.length - 1));
    else return;
    event.preventDefault();
  }
  private show(index: number): void {
    this.at = index;
    this.svg.querySelectorAll('.marker.reading').forEach((each) => each.remove());
    const mark = this.marks[index]!;
    frameAround(this.svg, mark.element.getBBox(), 'reading');
    this.line.textContent = mark.title.textContent;
    this.line.classList.remove('idle');
  }
  private clear(): void {
    this.svg.querySelectorAll('.marker.reading').forEach((each) => each.remove());
    this.line.textContent = this.hint();
    this.line.classList.add('idle');
    this.at = -1;
  }
}

export function readFigures(): void {
  for (const figure of document.querySelectorAll<HTMLElement>('figure')) {
    const svg = figure.querySelector('svg');
    if (!svg) continue;
    const marks = marksOf(svg);
    if (marks.length > 0) new Reader(figure, svg, marks);
  }
}
