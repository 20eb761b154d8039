// What happened, the newest first.

const keptEvents = 500;
const firstEvents = 40;

const eventShapes = { ready: 'up', conflict: 'unused', admin: 'person', reload: 'person', outage: 'down' };

const timeline = {
  events: [], // the newest first; sessions that failed are left out, they would push out the rest
  items: new Map(), // by event
  limit: firstEvents,
  lost: false,
  begun: false,

  start() {
    at('timeline-service').addEventListener('change', () => this.update());
    at('timeline-more').addEventListener('click', () => {
      this.limit = keptEvents;
      this.update();
    });
  },

  // add takes events, the oldest first, and tells of those that came while the page was open.
  add(fresh, lost) {
    const told = fresh.filter((e) => e.kind !== 'session');
    this.lost ||= Boolean(lost);
    this.events = told.toReversed().concat(this.events).slice(0, keptEvents);
    if (this.begun && told.length) announce(told);
    this.begun = true;
    this.update();
  },

  clear() {
    this.events = [];
    this.items.clear();
    this.lost = false;
    this.begun = false;
  },

  // known is the time from which no event is missing, in ms.
  known(started) {
    if (!this.begun) return Infinity;
    const oldest = this.events.at(-1);
    const cut = this.lost || this.events.length === keptEvents;
    return cut && oldest ? Math.max(started, Date.parse(oldest.time)) : started;
  },

  update() {
    const service = at('timeline-service').value;
    const wanted = this.events.filter((e) => !service || e.service === service);
    const items = new Map();
    for (const e of wanted.slice(0, this.limit)) items.set(e, this.items.get(e) || makeItem(e));
    this.items = items;
    arrange(at('events'), [...items.values()]);
    show(at('timeline-empty'), wanted.length === 0);
    show(at('timeline-more'), wanted.length > this.limit);
    say(at('timeline-more'), `Show ${count(wanted.length - this.limit)} more`);
    show(at('timeline-lost'), this.lost);
  },

  // offer lists the services to choose from. One that is gone stays while it is chosen.
  offer(names) {
    const list = at('timeline-service');
    const wanted = ['', ...new Set(list.value ? [...names, list.value] : names)];
    const have = new Map(Array.from(list.options, (o) => [o.value, o]));
    arrange(list, wanted.map((name) => have.get(name) || make('option', { value: name }, name)));
  },
};

function makeItem(e) {
  const state = e.kind === 'transition' ? e.to : e.kind;
  const name = eventShapes[state] || (stateNames.includes(state) ? state : 'note');
  const time = make('time', { datetime: e.time }, clock(new Date(e.time)));
  const subject = make('p', { class: 'subject' }, make('b', {}, [e.service, e.backend].filter(Boolean).join(' / ') || 'sluice'));
  if (e.from && e.to) subject.append(make('span', { class: 'change' }, `${e.from} → ${e.to}`));
  const by = [e.kind === 'transition' ? '' : e.kind, e.source ? 'by ' + e.source : '', e.who || ''].filter(Boolean).join(' · ');
  return make('li', { 'data-state': e.kind === 'transition' ? name : e.kind },
    time, shape(name), make('div', {}, subject, make('p', { class: 'text' }, e.text), make('small', {}, by)));
}

// announce puts changes where a screen reader reads them, a burst as one.
function announce(events) {
  const of = (e) => [e.service, e.backend, e.text].filter(Boolean).join(' ');
  say(at('live'), events.length > 3 ? `${events.length} new events. ${of(events.at(-1))}` : events.map(of).join('. '));
}
