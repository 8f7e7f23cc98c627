/// The timeline: every operation of the ranks and streams of a step on a canvas.
import { above, timeText, type Place, type Row, type Step } from './data';
import { fillOf, inkOn } from './fills';

const kRow = 20;
const kGap = 3; // below the rows of a rank, more
const kAxis = 24;
const kMostHeight = 480;
const kLeastWindow = 1e3; // picoseconds

export class Timeline {
  readonly canvas = document.createElement('canvas');
  /// The time shown, in picoseconds.
  from = 0;
  to: number;
  selected: Place | undefined;
  onSelect: (place: Place | undefined) => void = () => {};
  onView: () => void = () => {};

  private readonly context = this.canvas.getContext('2d')!;
  private readonly fills: (string | CanvasPattern)[];
  private readonly inks: string[];
  private readonly tops: number[] = []; // of rows, from the first
  private readonly whole: number; // height of all rows
  private scroll = 0;
  private gutter = 150;
  private size = 1; // of the page's text, relative to 16 pixels; lengths below are in these units
  private width = 0;
  private height = 0;
  private waiting = false;
  private drag: { x: number; y: number; from: number; to: number; scroll: number; moved: boolean } | undefined;

  constructor(private readonly step: Step) {
    this.to = step.end;
    this.fills = step.looks.map((look) => fillOf(this.context, look));
    this.inks = step.looks.map((look) => inkOn(look.color));
    let y = 0;
    step.rows.forEach((row, i) => {
      if (i > 0 && step.rows[i - 1]!.rank !== row.rank) y += kGap;
      this.tops.push(y);
      y += kRow;
    });
    this.whole = y;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener('pointerdown', (event) => this.press(event));
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', (event) => this.release(event));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  resize(): void {
    this.size = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const width = this.canvas.clientWidth / this.size;
    if (width === 0) return;
    this.width = width;
    this.gutter = width < 600 ? 92 : 250;
    this.height = kAxis + Math.min(this.whole, kMostHeight);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${this.height * this.size}px`;
    const scale = ratio * this.size;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.draw();
  }

  /// Shows a part of the step.
  show(from: number, to: number): void {
    const width = Math.min(Math.max(to - from, kLeastWindow), this.step.end);
    this.from = Math.min(Math.max(0, from), this.step.end - width);
    this.to = this.from + width;
    this.redraw();
    this.onView();
  }
  showAll(): void {
    this.show(0, this.step.end);
  }
  /// Zooms around a time; a factor below 1 shows less.
  zoom(factor: number, around = this.center()): void {
    const width = Math.min((this.to - this.from) * factor, this.step.end);
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * width, around + (1 - share) * width);
  }
  /// The selected operation where it is in sight, else the middle.
  private center(): number {
    const span = this.span();
    const at = span ? (span.start + span.end) / 2 : -1;
    return at >= this.from && at <= this.to ? at : (this.from + this.to) / 2;
  }
  pan(share: number): void {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }
  fit(): void {
    const span = this.span();
    if (!span) return this.showAll();
    const width = span.end - span.start;
    this.show(span.start - 2 * width, span.end + 2 * width);
  }
  select(place: Place | undefined, reveal = false): void {
    this.selected = place;
    if (place && reveal) this.reveal();
    this.redraw();
    this.onSelect(place);
  }
  /// Start and end of the selected operation.
  span(): { start: number; end: number; row: number } | undefined {
    if (!this.selected) return undefined;
    const rank = this.step.ranks[this.selected.rank]!;
    const row = rank.row[this.selected.operation]!;
    const slot = rank.slot[this.selected.operation]!;
    return { start: this.step.rows[row]!.start[slot]!, end: this.step.rows[row]!.end[slot]!, row };
  }
  /// The neighbor of the selected operation: in its row, or at its time in another row.
  neighbor(along: number, across: number): Place | undefined {
    const span = this.span();
    if (!span) return this.nearest(0, (this.from + this.to) / 2);
    if (across !== 0) {
      const row = span.row + across;
      return row >= 0 && row < this.step.rows.length ? this.nearest(row, (span.start + span.end) / 2) : undefined;
    }
    const row = this.step.rows[span.row]!;
    const slot = this.step.ranks[this.selected!.rank]!.slot[this.selected!.operation]! + along;
    if (slot < 0 || slot >= row.start.length) return undefined;
    return { rank: row.rank.place, operation: row.operation[slot]! };
  }
  /// The operation of a row that runs at a time, or the next before it.
  nearest(rowIndex: number, at: number): Place | undefined {
    const row = this.step.rows[rowIndex];
    if (!row || row.start.length === 0) return undefined;
    const slot = Math.max(0, above(row.start, at) - 1);
    return { rank: row.rank.place, operation: row.operation[slot]! };
  }

  private reveal(): void {
    const span = this.span()!;
    const width = this.to - this.from;
    if (span.start < this.from || span.end > this.to) {
      const middle = (span.start + span.end) / 2;
      const shown = Math.max(width, 1.2 * (span.end - span.start));
      this.show(middle - shown / 2, middle + shown / 2);
    }
    const top = this.tops[span.row]!;
    const room = this.height - kAxis;
    if (top < this.scroll || top + kRow > this.scroll + room) this.scrollTo(top - room / 2);
  }
  private scrollTo(y: number): void {
    this.scroll = Math.min(Math.max(0, y), Math.max(0, this.whole - (this.height - kAxis)));
  }

  private timeAt(x: number): number {
    return this.from + ((x - this.gutter) / (this.width - this.gutter)) * (this.to - this.from);
  }
  private xOf(time: number): number {
    return this.gutter + ((time - this.from) / (this.to - this.from)) * (this.width - this.gutter);
  }
  private rowAt(y: number): number {
    const at = y - kAxis + this.scroll;
    if (y < kAxis) return -1;
    for (let i = 0; i < this.tops.length; ++i) if (at >= this.tops[i]! && at < this.tops[i]! + kRow) return i;
    return -1;
  }
  private at(event: MouseEvent): { x: number; y: number } {
    return { x: event.offsetX / this.size, y: event.offsetY / this.size };
  }
  private wheel(event: WheelEvent): void {
    // Scrolling the page goes on until the timeline is in use.
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    if (event.shiftKey) {
      this.scrollTo(this.scroll + event.deltaY + event.deltaX);
      this.redraw();
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan(event.deltaX / this.width);
    } else {
      this.zoom(Math.exp(event.deltaY / 400), this.timeAt(this.at(event).x));
    }
  }
  private press(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { ...this.at(event), from: this.from, to: this.to, scroll: this.scroll, moved: false };
  }
  private move(event: PointerEvent): void {
    const drag = this.drag;
    if (!drag) return;
    const { x, y } = this.at(event);
    const dx = x - drag.x;
    const dy = y - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    drag.moved = true;
    this.scrollTo(drag.scroll - dy);
    const by = (-dx / (this.width - this.gutter)) * (drag.to - drag.from);
    this.show(drag.from + by, drag.to + by);
  }
  private release(event: PointerEvent): void {
    const moved = this.drag?.moved;
    this.drag = undefined;
    if (moved) return;
    const place = this.at(event);
    const index = this.rowAt(place.y);
    const row = this.step.rows[index];
    if (!row) return this.select(undefined);
    const at = this.timeAt(place.x);
    const near = (3 / (this.width - this.gutter)) * (this.to - this.from);
    const slot = Math.max(0, above(row.start, at + near) - 1);
    const hit = row.start.length > 0 && row.end[slot]! >= at - near;
    this.select(hit ? { rank: row.rank.place, operation: row.operation[slot]! } : undefined);
  }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const { context, width, height } = this;
    if (width === 0) return;
    context.fillStyle = '#ffffff';
    context.fillRect(0, 0, width, height);
    this.drawAxis();
    context.save();
    context.beginPath();
    context.rect(0, kAxis, width, height - kAxis);
    context.clip();
    let visible = 0;
    this.step.rows.forEach((row, i) => {
      const y = kAxis + this.tops[i]! - this.scroll;
      if (y + kRow < kAxis || y > height) return;
      visible += this.drawRow(row, y);
      this.drawName(row, i, y);
    });
    this.drawSelection();
    context.restore();
    this.canvas.dataset.visible = String(visible);
    this.canvas.dataset.window = `${this.from} ${this.to}`;
  }

  private drawAxis(): void {
    const { context } = this;
    const wanted = Math.max(2, Math.floor((this.width - this.gutter) / 110));
    const raw = (this.to - this.from) / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5, 10].find((each) => each * power >= raw) ?? 10);
    const digits = Math.max(4, Math.ceil(Math.log10(Math.max(1, this.to / step))) + 2);
    context.font = '12px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
    context.textAlign = 'center';
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      const x = this.xOf(at);
      context.fillStyle = '#dddddd';
      context.fillRect(x, kAxis - 5, 1, this.height);
      context.fillStyle = '#333333';
      const half = context.measureText(timeText(at, digits)).width / 2;
      if (x - half > this.gutter - 4 && x + half < this.width) context.fillText(timeText(at, digits), x, 14);
    }
  }

  private drawName(row: Row, i: number, y: number): void {
    const { context } = this;
    context.fillStyle = '#ffffff';
    context.fillRect(0, y, this.gutter - 1, kRow);
    context.fillStyle = '#222222';
    context.font = '11px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
    const first = i === 0 || this.step.rows[i - 1]!.rank !== row.rank;
    context.textAlign = 'left';
    if (first && this.gutter > 100) context.fillText(row.rank.name, 4, y + 14, this.gutter - 140);
    context.textAlign = 'right';
    context.fillText(this.gutter > 100 ? row.stream : `${row.rank.packed.rank} ${row.stream}`, this.gutter - 6, y + 14, this.gutter > 100 ? 124 : this.gutter - 8);
    context.fillStyle = '#cccccc';
    context.fillRect(0, y + kRow - 0.5, this.width, 0.5);
    if (first && i > 0) context.fillRect(0, y - kGap, this.width, 1);
  }

  /// Spans of a pixel or more as they are; of smaller ones, per pixel, what takes most of it, as high
  /// as the pixel is full. Returns how many spans are in sight.
  private drawRow(row: Row, y: number): number {
    const { context, from, to, gutter } = this;
    const scale = (this.width - gutter) / (to - from);
    const first = Math.max(0, above(row.end, from));
    const last = above(row.start, to);
    const looks = this.fills.length;
    const amounts = new Float64Array(looks);
    let column = -1;
    let filled = 0;
    let onPath = false;
    const run = { x: 0, width: 0, look: 0, high: 0 }; // columns of one look and height, not yet drawn
    const mark = { x: 0, width: 0 };
    const draw = (): void => {
      if (run.width > 0) {
        context.fillStyle = this.fills[run.look]!;
        context.fillRect(gutter + run.x, y + kRow - 2 - run.high, run.width, run.high);
      }
      run.width = 0;
    };
    const drawMark = (): void => {
      if (mark.width > 0) this.markPath(gutter + mark.x, mark.width, y);
      mark.width = 0;
    };
    const flush = (): void => {
      if (column < 0 || filled <= 0) return;
      let most = 0;
      for (let k = 1; k < looks; ++k) if (amounts[k]! > amounts[most]!) most = k;
      const high = Math.max(2, (Math.ceil(Math.min(1, filled) * 8 - 1e-9) / 8) * (kRow - 4));
      if (run.width === 0 || run.x + run.width !== column || run.look !== most || run.high !== high) {
        draw();
        Object.assign(run, { x: column, look: most, high });
      }
      run.width = column + 1 - run.x;
      if (onPath) {
        if (mark.x + mark.width !== column) drawMark();
        if (mark.width === 0) mark.x = column;
        mark.width = column + 1 - mark.x;
      }
      amounts.fill(0);
      filled = 0;
      onPath = false;
    };
    for (let i = first; i < last; ++i) {
      const x0 = Math.max(0, (row.start[i]! - from) * scale);
      const x1 = Math.min(this.width - gutter, (row.end[i]! - from) * scale);
      if (x1 - x0 >= 1) {
        flush();
        draw();
        drawMark();
        column = -1;
        this.drawSpan(row, i, gutter + x0, x1 - x0, y);
        continue;
      }
      const at = Math.floor(x0);
      if (at !== column) {
        flush();
        column = at;
      }
      amounts[row.look[i]!]! += x1 - x0;
      filled += x1 - x0;
      onPath ||= row.path[i] === 1;
    }
    flush();
    draw();
    drawMark();
    return Math.max(0, last - first);
  }

  private markPath(x: number, width: number, y: number): void {
    this.context.fillStyle = '#000000';
    this.context.fillRect(x, y + kRow - 2.5, width, 2);
  }

  private drawSpan(row: Row, i: number, x: number, width: number, y: number): void {
    const { context } = this;
    const look = row.look[i]!;
    context.fillStyle = this.fills[look]!;
    context.fillRect(x, y + 2, width > 3 ? width - 0.6 : width, kRow - 4);
    if (row.path[i] === 1) this.markPath(x, width, y);
    if (width < 34) return;
    const name = this.nameOf(row, i);
    context.font = '11px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
    context.textAlign = 'left';
    const room = width - 6;
    const wide = context.measureText(name).width;
    const text = wide <= room ? name : name.slice(0, Math.max(1, Math.floor((name.length * room) / wide) - 1)) + '…';
    if (this.step.looks[look]!.pattern !== 0) {
      context.fillStyle = this.step.looks[look]!.color;
      context.fillRect(x + 2, y + 4, Math.min(room, wide) + 2, kRow - 8);
    }
    context.fillStyle = this.inks[look]!;
    context.fillText(text, x + 3, y + 14);
  }

  private nameOf(row: Row, i: number): string {
    const operation = row.operation[i]!;
    return this.step.packed.operations[row.rank.role.operation[operation]!]!.name;
  }

  private drawSelection(): void {
    const span = this.span();
    if (!span || span.end < this.from || span.start > this.to) return;
    const { context } = this;
    const y = kAxis + this.tops[span.row]! - this.scroll;
    const x = Math.max(this.gutter - 2, this.xOf(span.start));
    const width = Math.max(3, Math.min(this.width, this.xOf(span.end)) - x);
    context.lineWidth = 4;
    context.strokeStyle = '#ffffff';
    context.strokeRect(x - 1, y + 1, width + 2, kRow - 2);
    context.lineWidth = 2.5;
    context.strokeStyle = '#000000';
    context.strokeRect(x - 1, y + 1, width + 2, kRow - 2);
    context.fillStyle = '#000000';
    context.beginPath();
    context.moveTo(x + width / 2 - 5, kAxis - 1);
    context.lineTo(x + width / 2 + 5, kAxis - 1);
    context.lineTo(x + width / 2, kAxis + 6);
    context.fill();
  }
}
