/// The details of the selected operation, as text.
import { bytesText, timeText, type Place, type Route, type Step } from './data';

export function routeOf(step: Step, place: Place): Route | undefined {
  const at = step.ranks[place.rank]!.packed.route[place.operation]!;
  return at < 0 ? undefined : step.packed.routes[at];
}

/// Bytes by category of the rank whose memory the page shows, at a time.
function memoryAt(step: Step, time: number): string {
  const { at, bytes, categories, rank } = step.packed.memory;
  let point = 0;
  while (point + 1 < at.length && at[point + 1]! <= time) ++point;
  if (at.length === 0) return '';
  const parts = categories.map((name, i) => ({ name, bytes: bytes[i]![point]! })).filter((each) => each.bytes > 0);
  const total = parts.reduce((sum, each) => sum + each.bytes, 0);
  return `rank ${rank}: ${bytesText(total)}: ` + parts.map((each) => `${each.name} ${bytesText(each.bytes)}`).join(', ');
}

/// "0 to 3", "0, 8, 16" of ascending numbers.
function numbersText(numbers: number[]): string {
  const consecutive = numbers.every((each, i) => each === numbers[0]! + i);
  if (consecutive && numbers.length > 2) return `${numbers[0]} to ${numbers[numbers.length - 1]}`;
  return numbers.length > 12 ? `${numbers.slice(0, 12).join(', ')} …` : numbers.join(', ');
}

/// The links of a message by name; those of a collective counted by kind.
function linksText(step: Step, route: Route, rank: number): string {
  const links = route.links.map((id) => step.links.get(id)!);
  if (route.algorithm === '') {
    const peer = `peer: rank ${route.members[0] === rank ? route.members[1] : route.members[0]}`;
    return links.length > 0 ? `${links.map((each) => each.name).join(', ')} (${peer})` : `none that is modeled (${peer})`;
  }
  const kinds = new Map<string, number>();
  for (const { kind } of links) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const counts = [...kinds].map(([kind, count]) => `${count} ${kind.replaceAll('_', ' ')}`);
  const among = `by ${route.algorithm} among ranks ${numbersText(route.members)}`;
  if (counts.length === 0) return `none that is modeled (${among})`;
  return `${links.length + route.more}: ${counts.join(', ')}${route.more > 0 ? ` and ${route.more} others` : ''} (${among})`;
}

export function detailsOf(step: Step, place: Place, start: number, end: number, onPath: number): [string, string][] {
  const rank = step.ranks[place.rank]!;
  const operation = step.packed.operations[rank.role.operation[place.operation]!]!;
  const route = routeOf(step, place);
  const out: [string, string][] = [
    ['operation', `${operation.name} (${operation.kind.replaceAll('_', ' ')}${operation.group ? `, group ${operation.group}` : ''})`],
    ['part of', `${operation.purpose}, microbatch ${rank.role.microbatch[place.operation]}, block ${rank.role.position[place.operation]}`],
    ['on', `${rank.name}, stream ${step.packed.streams[rank.role.stream[place.operation]!]}`],
    ['time', `${timeText(end - start, 6)}, from ${timeText(start, 9)} to ${timeText(end, 9)}`],
    ['critical path', onPath > 0 ? `yes, operation ${onPath} of ${step.packed.path.rank.length} on it${step.note ? ' that are shown' : ''}` : 'no: a change of its time alone does not change the step'],
  ];
  if (route) out.push(['links', linksText(step, route, rank.packed.rank)]);
  const memory = memoryAt(step, start);
  if (memory) out.push(['memory then', memory]);
  return out;
}

export function fill(list: HTMLElement, details: [string, string][]): void {
  list.replaceChildren(
    ...details.flatMap(([name, text]) => {
      const term = document.createElement('dt');
      term.textContent = name;
      const value = document.createElement('dd');
      value.textContent = text;
      return [term, value];
    }));
}
