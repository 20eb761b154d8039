// Elements, numbers and times.

const at = (id) => document.getElementById(id);

// make returns an element. Children that are strings become text nodes: no text from the
// API is ever read as markup.
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

function draw(tag, attributes = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// The next four touch the document only where it differs from what is wanted.

function say(e, text) {
  const t = e.firstChild;
  if (!t) e.append(text);
  else if (t.data !== text) t.data = text;
}

function set(e, name, value) {
  if (e.getAttribute(name) !== value) e.setAttribute(name, value);
}

function show(e, shown) {
  if (e.hidden === shown) e.hidden = !shown;
}

// arrange makes wanted the children of parent, moving as few as possible.
function arrange(parent, wanted) {
  let next = parent.firstElementChild;
  const keep = new Set(wanted);
  while (next && !keep.has(next)) next = removed(next);
  for (const e of wanted) {
    if (e !== next) {
      parent.insertBefore(e, next);
      continue;
    }
    next = next.nextElementSibling;
    while (next && !keep.has(next)) next = removed(next);
  }
}

function removed(e) {
  const next = e.nextElementSibling;
  e.remove();
  return next;
}

// shape returns the small picture that stands beside a state's word.
function shape(name) {
  const use = draw('use', { href: '#shape-' + name });
  const e = draw('svg', { class: 'shape', 'aria-hidden': 'true' }, use);
  e.become = (other) => set(use, 'href', '#shape-' + other);
  return e;
}

const numbers = new Intl.NumberFormat('en-US');
const count = (n) => numbers.format(n);
const plural = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');

function rate(perSecond) {
  if (perSecond === 0) return '0';
  if (perSecond < 0.05) return '<0.1';
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

const units = { h: 3600e3, m: 60e3, s: 1e3, ms: 1, 'µs': 1e-3, us: 1e-3, ns: 1e-6 };

// milliseconds reads Go's notation of a duration; '' is 0.
function milliseconds(duration) {
  let sum = 0;
  for (const [, n, unit] of (duration || '').matchAll(/([\d.]+)(h|ms|m|s|µs|us|ns)/g)) sum += n * units[unit];
  return sum;
}

// latency is for connects: 0 means that there was none.
function latency(ms) {
  if (!ms) return '–';
  if (ms < 1) return Math.round(ms * 1000) + ' µs';
  if (ms < 10) return ms.toFixed(1) + ' ms';
  return ms < 1000 ? Math.round(ms) + ' ms' : (ms / 1000).toFixed(2) + ' s';
}

// span tells a length of time in its largest unit, so that it seldom changes.
function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min';
  if (s < 86400) return Math.floor(s / 3600) + ' h';
  return Math.floor(s / 86400) + ' d';
}

// uptime is span with the next smaller unit.
function uptime(ms) {
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
  if (m < 1) return s + ' s';
  if (h < 1) return m + ' min';
  return h < 24 ? h + ' h ' + (m % 60) + ' min' : Math.floor(h / 24) + ' d ' + (h % 24) + ' h';
}

const two = (n) => String(n).padStart(2, '0');

// clock is the local time of day, with the date if that is not today.
function clock(date) {
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  if (date.toDateString() === new Date().toDateString()) return time;
  return date.getFullYear() + '-' + two(date.getMonth() + 1) + '-' + two(date.getDate()) + ' ' + time;
}
