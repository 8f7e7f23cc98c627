// The page: its views by the address, the theme, and keys.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { collectivesView } from './collectives';
import { h, put } from './dom';
import { lessonFigure, lessons } from './lessons';
import { memoryView } from './memory';
import { pipelinesView } from './pipelines';
import { place, remember, type Values } from './state';

const view = document.getElementById('view')!;
const tour = document.getElementById('tour')!;
const contents = document.getElementById('contents')!;
const lessonNav = document.getElementById('lesson-nav')!;
const sections = [...document.querySelectorAll<HTMLElement>('.lesson')];
const views = ['tour', 'collectives', 'pipelines', 'memory'];

let drawn = '';

function lessonOf(name: string): number {
  const n = Number(/^lesson\/(\d+)$/.exec(name)?.[1] ?? 0);
  return n >= 1 && n <= lessons.length ? n : 0;
}

function showTour(lesson: number, values: Values): void {
  document.body.classList.toggle('one-lesson', lesson > 0);
  for (const section of sections) {
    section.hidden = Number(section.dataset.lesson) !== lesson;
    if (section.hidden) put(section.querySelector('.lesson-figure')!);
  }
  for (const part of tour.querySelectorAll<HTMLElement>(':scope > h1, :scope > .lead')) part.hidden = lesson > 0;
  contents.hidden = lesson > 0;
  lessonNav.hidden = lesson === 0;
  if (lesson === 0) return;
  put(sections[lesson - 1]!.querySelector('.lesson-figure')!, lessonFigure(lesson - 1, values, remember));
  const link = (to: number, text: string) => (to < 1 || to > lessons.length ? h('span', {}) : h('a', { href: `#/lesson/${to}` }, text));
  put(lessonNav, link(lesson - 1, '< Previous'), h('a', { href: '#/tour' }, `Lesson ${lesson} of ${lessons.length}: all lessons`), link(lesson + 1, 'Next >'));
}

function show(): void {
  const now = place();
  const lesson = lessonOf(now.view);
  const name = lesson > 0 ? now.view : views.includes(now.view) ? now.view : 'tour';
  drawn = location.hash;
  for (const link of document.querySelectorAll('header nav a')) {
    const here = link.getAttribute('href') === `#/${lesson > 0 ? 'tour' : name}`;
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const inTour = lesson > 0 || name === 'tour';
  tour.hidden = !inTour;
  view.hidden = inTour;
  view.replaceChildren();
  const values = { ...now.values };
  if (inTour) showTour(lesson, values);
  else if (name === 'collectives') void collectivesView(view, values, remember);
  else if (name === 'pipelines') void pipelinesView(view, values, remember);
  else memoryView(view, values, remember);
  document.title = `Lockstep: ${lesson > 0 ? sections[lesson - 1]!.querySelector('h2')!.textContent!.trim() : name}`;
  scrollTo(0, 0);
}

function setTheme(dark: boolean): void {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  dispatchEvent(new Event('themechange'));
}

const asked = matchMedia('(prefers-color-scheme: dark)');
setTheme(asked.matches);
asked.addEventListener('change', () => setTheme(asked.matches));
document.getElementById('theme')!.addEventListener('click', () => setTheme(document.documentElement.dataset.theme !== 'dark'));

addEventListener('hashchange', () => {
  if (location.hash === '#content') {
    document.getElementById('content')!.focus();
    history.replaceState(null, '', drawn || '#/tour');
    return;
  }
  show();
});

addEventListener('keydown', (event) => {
  const on = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(on.tagName)) return;
  const lesson = lessonOf(place().view);
  if (event.key === 'n' && lesson < lessons.length) location.hash = `#/lesson/${lesson + 1}`;
  else if (event.key === 'p' && lesson > 1) location.hash = `#/lesson/${lesson - 1}`;
  else if (/^[1-4]$/.test(event.key)) location.hash = `#/${views[Number(event.key) - 1]}`;
});

show();
