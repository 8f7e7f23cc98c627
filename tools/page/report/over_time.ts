/// The topology at an instant of the step: links in the colors and widths of their use then.
import { timeText, type Step } from './data';

interface Look {
  from: number;
  color: string;
  width: number;
}
interface Cable {
  path: SVGPathElement;
  title: Element;
  whole: string; // the text of the whole step
  color: string;
  width: string;
  use: number[]; // by part of the step
}

const kLetters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/// Of a figure without tooltips.
function titleOf(group: SVGGElement, text: string): Element {
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = text;
  group.prepend(title);
  return title;
}

const percent = (use: number[]): string => `${Number(((100 * use.reduce((sum, each) => sum + each, 0)) / use.length).toPrecision(3))} %`;

export class LinksOverTime {
  private readonly slider = document.createElement('input');
  private readonly text = document.createElement('output');
  private readonly play = document.createElement('button');
  private playing = 0;
  private part: number | undefined;

  /// None of a page whose topology is drawn by kind, or without loads.
  static of(step: Step): LinksOverTime | undefined {
    const svg = document.querySelector<SVGSVGElement>('#links ~ figure svg:has(g.cable)');
    return svg && step.packed.loads.divisions > 0 ? new LinksOverTime(step, svg) : undefined;
  }

  private readonly looks: Look[];
  private readonly cables: Cable[] = [];
  private readonly thin: number; // widths of this figure, relative to the legend's

  private constructor(private readonly step: Step, svg: SVGSVGElement) {
    const { loads } = step.packed;
    this.looks = [...svg.querySelectorAll<SVGGElement>('g.use')].map((each) => {
      const line = each.querySelector('line')!;
      return { from: Number(each.dataset.from), color: line.getAttribute('stroke')!, width: Number(line.getAttribute('stroke-width')) };
    });
    const use = new Map(loads.link.map((id, i) => [id, [...loads.use[i]!].map((letter) => kLetters.indexOf(letter) / (kLetters.length - 1))]));
    for (const group of svg.querySelectorAll<SVGGElement>('g.cable')) {
      const path = group.querySelector('path')!;
      const id = Number(group.dataset.link!.slice(1));
      const of = use.get(id);
      const title = group.querySelector('title') ?? (of && titleOf(group, `${step.links.get(id)!.name}: ${percent(of)}`));
      if (of && title)
        this.cables.push({ path, title, whole: title.textContent!, color: path.getAttribute('stroke')!, width: path.getAttribute('stroke-width')!, use: of });
    }
    const first = this.cables[0];
    this.thin = first ? Number(first.width) / (this.looks.find((look) => look.color === first.color)?.width ?? 1) : 1;
    this.build(svg.closest('figure')!);
    this.set(undefined);
    window.addEventListener('beforeprint', () => this.set(undefined));
  }

  private build(figure: HTMLElement): void {
    const tools = document.createElement('div');
    tools.className = 'tools live-only over-time';
    this.play.type = 'button';
    this.play.addEventListener('click', () => (this.playing ? this.stop() : this.start()));
    this.slider.type = 'range';
    this.slider.min = '-1';
    this.slider.max = String(this.step.packed.loads.divisions - 1);
    this.slider.setAttribute('aria-label', 'Instant of the step whose use of links is drawn; the leftmost place: the whole step');
    this.slider.addEventListener('input', () => {
      this.stop();
      const value = Number(this.slider.value);
      this.set(value < 0 ? undefined : value);
    });
    tools.append(this.play, this.slider, this.text);
    figure.before(tools);
    this.stop();
  }

  private start(): void {
    this.play.textContent = 'Pause';
    this.play.setAttribute('aria-label', 'Pause');
    this.playing = window.setInterval(() => this.set(((this.part ?? -1) + 1) % this.step.packed.loads.divisions), 80);
  }
  private stop(): void {
    window.clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = '▶ Play';
    this.play.setAttribute('aria-label', 'Play the use of links over the step');
  }

  /// At a time in picoseconds; undefined: over the whole step.
  show(at: number | undefined): void {
    this.stop();
    const { divisions } = this.step.packed.loads;
    this.set(at === undefined ? undefined : Math.min(divisions - 1, Math.floor((at / this.step.end) * divisions)));
  }

  private set(part: number | undefined): void {
    this.part = part;
    const { divisions } = this.step.packed.loads;
    const from = part === undefined ? 0 : (this.step.end * part) / divisions;
    const until = part === undefined ? this.step.end : (this.step.end * (part + 1)) / divisions;
    this.slider.value = String(part ?? -1);
    this.text.textContent = part === undefined ? 'Use of links over the whole step' : `Use of links from ${timeText(from)} to ${timeText(until)}`;
    this.slider.setAttribute('aria-valuetext', this.text.textContent);
    for (const { path, title, whole, color, width, use } of this.cables) {
      if (part === undefined) {
        path.setAttribute('stroke', color);
        path.setAttribute('stroke-width', width);
        title.textContent = whole;
        continue;
      }
      const share = use[part]!;
      const look = this.looks.filter((each) => share >= each.from).at(-1)!;
      path.setAttribute('stroke', share > 0 ? look.color : '#d3d3d3');
      path.setAttribute('stroke-width', String((share > 0 ? look.width : 0.7) * this.thin));
      const name = whole.slice(0, whole.lastIndexOf(': '));
      title.textContent = `${name}: ${Math.round(100 * share)} % from ${timeText(from)} to ${timeText(until)}, ${whole.slice(name.length + 2)} over the step`;
    }
  }
}
