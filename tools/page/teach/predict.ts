// A question that is answered before the simulation is shown.
import { h, put } from './dom';

export interface Question {
  question: string;
  choices: string[];
  reveal: () => Promise<{ right: string; because: string }>;
}

export function predict({ question, choices, reveal }: Question): HTMLElement {
  const answer = h('p', { class: 'answer', role: 'status' });
  const buttons = choices.map((choice) => h('button', {
    type: 'button', 'aria-pressed': 'false', click: async () => {
      put(answer, 'Simulating ...');
      const { right, because } = await reveal();
      for (const each of buttons) {
        each.setAttribute('aria-pressed', String(each.textContent === choice));
        each.classList.toggle('right', each.textContent === right);
      }
      put(answer, h('strong', {}, choice === right ? 'Yes. ' : `No: ${right}. `), because);
    },
  }, choice));
  return h('div', { class: 'question', role: 'group', 'aria-label': question }, h('p', {}, question), h('div', { class: 'choices' }, ...buttons), answer);
}
