/// Fills of looks on a canvas: a color with a second code on top, as figures have them.
import type { Look } from './data';

const kInk = '#555555';

function drawInk(context: CanvasRenderingContext2D, pattern: number): void {
  context.strokeStyle = kInk;
  context.fillStyle = kInk;
  context.lineWidth = 1;
  context.beginPath();
  if (pattern === 1) {
    for (const [x, y] of [[-1, 1], [0, 6], [5, 7]] as const) {
      context.moveTo(x, y);
      context.lineTo(x + 6, y - 6);
    }
  } else if (pattern === 2) {
    context.arc(1.5, 1.5, 0.9, 0, 7);
    context.arc(4.5, 4.5, 0.9, 0, 7);
    context.fill();
    return;
  } else {
    if (pattern === 3) {
      context.moveTo(0, 3);
      context.lineTo(6, 3);
    }
    context.moveTo(3, 0);
    context.lineTo(3, 6);
  }
  context.stroke();
}

export function fillOf(context: CanvasRenderingContext2D, look: Look): string | CanvasPattern {
  if (look.pattern === 0) return look.color;
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const on = tile.getContext('2d')!;
  on.fillStyle = look.color;
  on.fillRect(0, 0, 6, 6);
  drawInk(on, look.pattern);
  return context.createPattern(tile, 'repeat') ?? look.color;
}

/// Black or white, whichever can be read on the color.
export function inkOn(color: string): string {
  const value = (at: number): number => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * value(1) + 0.7152 * value(3) + 0.0722 * value(5) > 0.2 ? '#111111' : '#ffffff';
}
