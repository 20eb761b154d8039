// One row of a service's table, and what its buttons do.

const columns = ['Backend', 'State', 'Weight', 'Sessions', 'Share', 'p50', 'p99', 'Since', 'Reason', 'Set'];
const hints = {
  Weight: 'prio: used once those of a lower priority are not usable; 0 is not written',
  Share: 'of the sessions that the service has now', p50: 'connect time, median', p99: 'connect time, 99th percentile',
  Since: 'the last change of state', Set: 'the administrative state',
};
const adminStates = ['ready', 'drain', 'maint'];

class Row {
  constructor(service) {
    this.service = service; // its name
    this.cells = Object.fromEntries(columns.map((name) => [name, make(name === 'Backend' ? 'th' : 'td', {
      role: name === 'Backend' ? 'rowheader' : 'cell', 'data-label': name, class: 'col-' + name.toLowerCase(),
    })]));
    this.cells.Backend.setAttribute('scope', 'row');
    this.element = make('tr', { role: 'row' }, ...Object.values(this.cells));
    this.name = this.fill('Backend', make('span', { class: 'name' }));
    this.address = this.fill('Backend', make('span', { class: 'address' }));
    this.shape = this.fill('State', shape('unknown'));
    this.state = this.fill('State', make('span', { class: 'word' }));
    this.also = this.fill('State', make('small'));
    this.weight = this.fill('Weight', make('span'));
    this.tier = this.fill('Weight', make('small'));
    this.sessions = this.fill('Sessions', make('span'));
    this.bar = draw('rect', { height: '4', width: '0' });
    this.share = this.fill('Share', make('span'));
    this.fill('Share', draw('svg', { class: 'bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.bar));
    this.p50 = this.fill('p50', make('span'));
    this.p99 = this.fill('p99', make('span'));
    this.since = this.fill('Since', make('time'));
    this.reason = this.fill('Reason', make('span'));
    this.buttons = this.makeButtons();
  }

  fill(column, e) {
    this.cells[column].append(e);
    return e;
  }

  makeButtons() {
    const group = this.fill('Set', make('div', { class: 'group', role: 'group', 'aria-label': 'administrative state' }));
    return adminStates.map((state) => {
      const b = make('button', { type: 'button' }, state);
      b.addEventListener('click', () => this.press(state));
      group.append(b);
      return b;
    });
  }

  press(state) {
    if (state !== this.backend.admin && !this.backend.leaving) askAdmin(this.service, this.backend.name, state);
  }

  // update shows b; all is how many sessions its service's backends have.
  update(b, all, now) {
    const state = stateOf(b);
    this.backend = b;
    set(this.element, 'data-state', state);
    say(this.name, b.name);
    say(this.address, b.address === b.name ? '' : b.address);
    this.shape.become(state);
    say(this.state, word(state));
    say(this.also, alsoOf(b, state));
    say(this.weight, String(b.weight));
    say(this.tier, b.priority > 0 ? 'prio ' + b.priority : '');
    say(this.sessions, count(b.sessions) + (b.max_connections > 0 ? ' / ' + count(b.max_connections) : ''));
    this.updateShare(b.sessions, all);
    say(this.p50, latency(milliseconds(b.connect_p50)));
    say(this.p99, latency(milliseconds(b.connect_p99)));
    this.updateSince(b, now);
    say(this.reason, b.reason);
    set(this.reason, 'title', b.reason);
    this.updateButtons(b);
  }

  updateShare(sessions, all) {
    const percent = all > 0 ? Math.round((100 * sessions) / all) : 0;
    say(this.share, all > 0 ? percent + ' %' : '–');
    set(this.bar, 'width', String(percent));
  }

  updateSince(b, now) {
    const t = Date.parse(b.since);
    const known = t > 0;
    say(this.since, known ? span(now - t) : '–');
    set(this.since, 'datetime', known ? b.since : '');
    set(this.since, 'title', known ? clock(new Date(t)) : '');
  }

  updateButtons(b) {
    adminStates.forEach((state, i) => {
      set(this.buttons[i], 'aria-pressed', String(b.admin === state));
      set(this.buttons[i], 'aria-disabled', String(Boolean(b.leaving)));
      set(this.buttons[i], 'aria-label', `${state}: ${b.name} of ${this.service}`);
    });
  }
}

// alsoOf is what the one word leaves out.
function alsoOf(b, state) {
  if (state === 'drain' && b.health === 'down') return 'and down';
  if (state === 'drain' && b.ejected) return 'and ejected';
  return state === 'ejected' && b.usable ? 'still used' : '';
}

// askAdmin says what a change of state will do, and does it.
function askAdmin(serviceName, backendName, state) {
  const etag = api.etag;
  const compose = () => {
    const found = find(serviceName, backendName);
    return found && adminQuestion(found.service, found.backend, state);
  };
  dialogs.ask(compose, () =>
    act(`${backendName} of ${serviceName} is now set to ${state}.`, 'PUT', backendPath(serviceName, backendName) + '/admin', { state }, etag));
}

function adminQuestion(service, b, state) {
  const title = `Set ${b.name} of ${service.name} to ${state}?`;
  const verb = 'Set to ' + state;
  if (state === 'ready') return { title, verb, lines: readyLines(service, b) };
  const left = service.usable - (b.usable ? 1 : 0);
  return {
    title, verb,
    lines: [
      state === 'drain' ? 'It gets no new sessions, and is still probed.' : 'It gets no new sessions, and is not probed.',
      goOn(b.sessions), `${left} of ${plural(service.backends.length, 'backend')} ${stay(left)} usable.`,
    ],
    warning: left === 0 ? `No backend of ${service.name} will be usable: new clients wait or are refused.` : '',
  };
}

const goOn = (n) => (n === 0 ? 'It has no sessions now.' : `${plural(n, 'session')} ${n === 1 ? 'goes' : 'go'} on.`);
const stay = (n) => (n === 1 ? 'stays' : 'stay');

const usableNow = (service) => `${service.usable} of ${plural(service.backends.length, 'backend')} ${service.usable === 1 ? 'is' : 'are'} usable now.`;

function readyLines(service, b) {
  const when = b.health === 'up' && !b.ejected ? ', at once.' : ', as soon as it is up.';
  return ['It may have new sessions again' + when, usableNow(service)];
}
