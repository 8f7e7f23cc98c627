/// Interaction on top of a report that reads without it.
document.documentElement.classList.add('live');
export {};
