// The view and its values, in the address after #: a link shows the same view.

export type Values = Record<string, string>;
export interface Place {
  view: string;
  values: Values;
}

export function place(): Place {
  const [view = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

export function addressOf({ view, values }: Place): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  return `#/${view}${query.size > 0 ? `?${query}` : ''}`;
}

/** Writes values without a new entry in the history, and without drawing again. */
export function remember(values: Values): void {
  const now = place();
  history.replaceState(null, '', addressOf({ view: now.view, values: { ...now.values, ...values } }));
}

export function wholeNumber(values: Values, key: string, fallback: number, min: number, max: number): number {
  const n = Number(values[key] ?? fallback);
  return Number.isFinite(n) ? Math.min(max, Math.max(min, Math.round(n))) : fallback;
}

export function oneOf(values: Values, key: string, allowed: readonly string[], fallback: string): string {
  const value = values[key];
  return value !== undefined && allowed.includes(value) ? value : fallback;
}
