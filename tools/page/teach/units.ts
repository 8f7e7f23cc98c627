// Numbers for people; tables keep the exact ones.
import type { Value } from './dom';

const kTime: [number, string][] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']];

function digits(n: number): string {
  const a = Math.abs(n);
  return a >= 100 ? n.toFixed(1) : a >= 10 ? n.toFixed(2) : n.toFixed(3);
}

export function seconds(t: number): string {
  if (t === 0) return '0';
  for (const [unit, name] of kTime) if (Math.abs(t) >= unit) return `${digits(t / unit)} ${name}`;
  return `${(t * 1e12).toFixed(0)} ps`;
}

export function picoseconds(ps: number): string {
  return seconds(ps / 1e12);
}

/** 64 KiB, 1 GiB. */
export function bytes(n: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  let value = n;
  while (value >= 1024 && i < names.length - 1) {
    value /= 1024;
    ++i;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${names[i]}`;
}

/** 12.3 GB, as memory of GPUs is counted in scenarios. */
export function gigabytes(n: number): string {
  return `${(n / 1e9).toFixed(n >= 1e10 ? 1 : 2)} GB`;
}

export function rate(n: number): string {
  return n >= 1e9 ? `${digits(n / 1e9)} GB/s` : n >= 1e6 ? `${digits(n / 1e6)} MB/s` : `${digits(n / 1e3)} KB/s`;
}

export function percent(x: number): string {
  return `${(100 * x).toFixed(1)} %`;
}

export const time = (t: number): Value => ({ text: seconds(t), value: String(t) });
export const count = (n: number): Value => ({ text: n.toLocaleString('en-US'), value: String(n) });
export const size = (n: number): Value => ({ text: bytes(n), value: String(n) });
export const memory = (n: number): Value => ({ text: gigabytes(n), value: String(n) });
export const share = (x: number): Value => ({ text: percent(x), value: String(x) });
