// One service: its figures, its strip, and, unfolded, its charts and backends.

const firstRows = 50; // of a service, until more are asked for
const stateNames = ['up', 'unknown', 'ejected', 'down', 'drain', 'maint', 'leaving', 'unused'];
const pauses = [['10s', '10 seconds'], ['30s', '30 seconds'], ['1m', '1 minute'], ['5m', '5 minutes'], ['15m', '15 minutes'], ['1h', '1 hour']];

// Figures are numbers with their names.
class Figures {
  constructor(element) {
    this.element = element;
    this.values = new Map();
  }

  put(name, value, tone = '') {
    if (!this.values.has(name)) {
      const dd = make('dd');
      this.values.set(name, dd);
      this.element.append(make('div', {}, make('dt', {}, name), dd));
    }
    say(this.values.get(name), value);
    set(this.values.get(name), 'class', tone);
  }
}

class Card {
  open = null; // what the operator chose; null = nothing
  limit = firstRows;
  rows = new Map();
  body = null; // made when it is first unfolded

  constructor(id, changed) {
    this.id = id;
    this.history = new History();
    this.name = make('span', { class: 'name' });
    this.toggle = make('button', { type: 'button', class: 'toggle', 'aria-controls': id + '-body' }, this.name);
    this.toggle.addEventListener('click', () => {
      this.open = this.toggle.getAttribute('aria-expanded') !== 'true';
      changed();
    });
    this.changed = changed;
    this.where = make('p', { class: 'where' });
    this.badge = make('span', { class: 'badge warn', hidden: '' });
    this.tally = make('ul', { class: 'tally', 'aria-label': 'backends by state' });
    this.tallies = new Map();
    this.figures = new Figures(make('dl', { class: 'figures' }));
    this.hold = make('button', { type: 'button', class: 'hold' });
    this.hold.addEventListener('click', () => (this.service.paused === undefined ? askPause : askResume)(this.service.name));
    this.strip = new Strip();
    const title = make('div', { class: 'title' }, make('h2', { id: id + '-name' }, this.toggle), this.badge, this.tally);
    this.element = make('section', { class: 'service', 'aria-labelledby': id + '-name' },
      make('div', { class: 'head' }, make('div', { class: 'what' }, title, this.where), this.figures.element, this.hold),
      make('div', { class: 'past' }, '10 min', this.strip.element, 'now'));
  }

  // remember takes the counters of each answer, seen or not.
  remember(service, t) {
    this.service = service;
    this.history.add(service, t);
  }

  // update shows the service with those of its backends that are wanted. Times are of the
  // server; t is the one that the history has.
  update(service, backends, open, moment) {
    set(this.element, 'class', 'service' + (service.usable === 0 ? ' outage' : hasProblem(service) ? ' problem' : ''));
    say(this.name, service.name);
    say(this.where, service.listen.join(', ') + ' · ' + service.balance);
    this.updateFigures(service);
    this.updateTally(service);
    const paused = service.paused !== undefined;
    show(this.badge, paused || Boolean(service.leaving));
    say(this.badge, service.leaving ? 'leaving' : paused ? `paused, ${span(milliseconds(service.paused))} left` : '');
    say(this.hold, paused ? 'Resume…' : 'Pause…');
    set(this.hold, 'aria-label', (paused ? 'Resume ' : 'Pause ') + service.name);
    show(this.hold, !service.leaving);
    this.strip.update(service, moment.events, moment.known, moment.now);
    set(this.toggle, 'aria-expanded', String(open));
    if (open && !this.body) this.makeBody();
    if (this.body) show(this.body, open);
    if (open) this.updateBody(service, backends, moment);
  }

  updateFigures(service) {
    const usable = service.usable === 0 ? 'bad' : service.usable < service.backends.length ? 'warn' : '';
    const refused = this.history.now('refused');
    this.figures.put('sessions', count(service.sessions));
    this.figures.put('new/s', rate(this.history.now('fresh')));
    this.figures.put('refused/s', rate(refused), refused > 0 ? 'bad' : 'zero');
    this.figures.put('held', count(service.held), service.held > 0 ? 'warn' : 'zero');
    this.figures.put('usable', `${count(service.usable)} / ${count(service.backends.length)}`, usable);
  }

  updateTally(service) {
    const tally = new Map();
    for (const b of service.backends) tally.set(stateOf(b), (tally.get(stateOf(b)) || 0) + 1);
    const wanted = stateNames.filter((state) => tally.has(state)).map((state) => {
      if (!this.tallies.has(state)) {
        const text = make('span');
        this.tallies.set(state, { text, li: make('li', { 'data-state': state }, shape(state), text) });
      }
      say(this.tallies.get(state).text, count(tally.get(state)) + ' ' + word(state));
      return this.tallies.get(state).li;
    });
    arrange(this.tally, wanted);
  }

  makeBody() {
    this.charts = [
      new Chart('sessions', 'now, and over the last 2 minutes', 'sessions', (v) => count(Math.round(v))),
      new Chart('new/s', 'connections to backends a second', 'fresh', rate),
      new Chart('connect p99', 'of the slowest backend', 'p99', latency),
    ];
    const head = columns.map((name) => make('th', { role: 'columnheader', scope: 'col', class: 'col-' + name.toLowerCase(), title: hints[name] || '' }, name));
    this.tbody = make('tbody', { role: 'rowgroup' });
    this.table = make('table', { role: 'table', 'aria-labelledby': this.id + '-name' },
      make('thead', { role: 'rowgroup' }, make('tr', { role: 'row' }, ...head)), this.tbody);
    this.more = make('button', { type: 'button', class: 'more', hidden: '' });
    this.more.addEventListener('click', () => {
      this.limit += 4 * firstRows;
      this.changed();
    });
    this.body = make('div', { class: 'body', id: this.id + '-body' },
      make('div', { class: 'charts' }, ...this.charts.map((c) => c.element)), this.table, this.more);
    this.element.append(this.body);
  }

  updateBody(service, backends, moment) {
    const values = [service.sessions, this.history.now('fresh'), slowestOf(service)];
    this.charts.forEach((c, i) => c.update(this.history, moment.t, values[i]));
    const all = service.backends.reduce((sum, b) => sum + b.sessions, 0);
    const shown = backends.slice(0, this.limit);
    const rows = new Map();
    for (const b of shown) {
      const row = this.rows.get(keyOf(b)) || new Row(service.name);
      row.update(b, all, moment.now);
      rows.set(keyOf(b), row);
    }
    this.rows = rows;
    arrange(this.tbody, Array.from(rows.values(), (row) => row.element));
    show(this.table, rows.size > 0);
    const rest = backends.length - shown.length;
    show(this.more, rest > 0);
    say(this.more, `Show ${count(Math.min(rest, 4 * firstRows))} more of ${count(rest)}`);
  }
}

function askPause(name) {
  const etag = api.etag;
  const compose = () => {
    const service = findService(name);
    return service && {
      title: `Pause ${name}?`, verb: 'Pause',
      lines: ['New clients wait and are not refused, until the time is over or the service is resumed.', goOn(service.sessions)],
    };
  };
  dialogs.ask(compose, (time) => act(`${name} is paused.`, 'POST', servicePath(name) + '/pause', { for: time }, etag), pauses);
}

function askResume(name) {
  const etag = api.etag;
  const compose = () => {
    const service = findService(name);
    return service && {
      title: `Resume ${name}?`, verb: 'Resume',
      lines: [`${plural(service.held, 'client')} ${service.held === 1 ? 'waits' : 'wait'} now and will be given backends.`, usableNow(service)],
    };
  };
  dialogs.ask(compose, () => act(`${name} is resumed.`, 'POST', servicePath(name) + '/resume', undefined, etag));
}
