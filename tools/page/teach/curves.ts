// Curves with uPlot, each with its table.
import uPlot from 'uplot';
import { details, h, table, type Value } from './dom';

export interface Curve {
  name: string;
  values: (number | null)[];
  dashed?: boolean;
}

export interface CurveChart {
  title: string;
  across: string; // of the x axis
  along: string; // of the y axis
  x: number[];
  xText: (n: number) => string;
  yText: (n: number) => string;
  yValue: (n: number) => Value;
  curves: Curve[];
  logX?: boolean;
  logY?: boolean;
  marks?: { x: number; text: string }[];
}

const kDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 6], [1, 2], [6, 2, 1, 2]];

/** Pixels that grow with the text of the page, which large screens enlarge. */
function px(n: number): number {
  return Math.round((n * parseFloat(getComputedStyle(document.documentElement).fontSize)) / 16);
}

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A colour and a dash pattern per curve, so that no meaning is by colour alone. */
function seriesOf(chart: CurveChart): uPlot.Series[] {
  return chart.curves.map((each, i) => ({
    label: each.name, stroke: each.dashed ? css('--muted') : css(`--c${i % 8}`), width: 2,
    dash: each.dashed ? [3, 5] : kDashes[i % kDashes.length],
    points: { show: chart.x.length <= 24, size: 6 },
    value: (_: uPlot, n: number | null) => (n === null ? '-' : chart.yText(n)),
    spanGaps: true,
  }));
}

function marksOf(chart: CurveChart): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const { ctx } = plot;
        ctx.save();
        ctx.strokeStyle = css('--muted');
        ctx.fillStyle = css('--text');
        ctx.font = `${px(12) * devicePixelRatio}px system-ui`;
        for (const [i, mark] of (chart.marks ?? []).entries()) {
          const x = plot.valToPos(mark.x, 'x', true);
          ctx.setLineDash([4, 4]);
          ctx.beginPath();
          ctx.moveTo(x, plot.bbox.top);
          ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
          ctx.stroke();
          // To the right of its line where there is room.
          const fits = x + px(8) + ctx.measureText(mark.text).width < plot.bbox.left + plot.bbox.width;
          ctx.textAlign = fits ? 'left' : 'right';
          ctx.fillText(mark.text, x + (fits ? px(5) : -px(5)), plot.bbox.top + px(14) * devicePixelRatio * (i + 1));
        }
        ctx.restore();
      },
    },
  };
}

export function curves(chart: CurveChart): HTMLElement {
  const holder = h('div', { class: 'plot', role: 'img', 'aria-label': `${chart.title}; the table below has the numbers` });
  const axis = (text: (n: number) => string, label: string, size: number): uPlot.Axis => ({
    stroke: css('--text'), grid: { stroke: css('--line'), width: 1 }, ticks: { stroke: css('--line') }, label, size: px(size),
    labelSize: px(22), font: `${px(12)}px system-ui`, labelFont: `${px(13)}px system-ui`, space: px(label === chart.across ? 60 : 34),
    values: (_, ticks) => ticks.map((n) => (n === null ? '' : text(n))),
  });
  const draw = () => {
    const width = Math.max(280, holder.clientWidth);
    const options: uPlot.Options = {
      width, height: Math.min(px(460), Math.max(260, width * 0.5)),
      scales: { x: { time: false, distr: chart.logX ? 3 : 1, log: 2 }, y: { distr: chart.logY ? 3 : 1, log: 10 } },
      axes: [axis(chart.xText, chart.across, 46), axis(chart.yText, chart.along, 84)],
      series: [{ label: chart.across, value: (_, n) => (n === null ? '-' : chart.xText(n)) }, ...seriesOf(chart)],
      plugins: [marksOf(chart)], cursor: { drag: { x: false, y: false } },
    };
    holder.replaceChildren();
    new uPlot(options, [chart.x, ...chart.curves.map((each) => each.values)] as uPlot.AlignedData, holder);
  };
  let drawnAt = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === drawnAt || holder.clientWidth === 0) return;
    drawnAt = holder.clientWidth;
    draw();
  }).observe(holder);
  addEventListener('themechange', () => holder.isConnected && draw());
  const rows = chart.x.map((x, i) => [
    { text: chart.xText(x), value: String(x) },
    ...chart.curves.map((each) => { const y = each.values[i]; return y == null ? '-' : chart.yValue(y); }),
  ]);
  return h('figure', {}, h('figcaption', {}, chart.title), holder,
    details('Table of the curves', table(chart.title, [{ head: chart.across, number: true }, ...chart.curves.map((each) => ({ head: each.name, number: true }))], rows)));
}
