// The loop: ask, remember, show.

const period = 2000; // ms between questions
const rest = 10000; // the same while nobody looks
const defaultOpen = 60; // backends, up to which all services are unfolded
const filteredOpen = 200; // the same while the operator filters

const view = {
  status: null,
  services: [],
  cards: new Map(),
  made: 0, // cards, for their ids
  t: 0, // when the newest answer came; performance.now, which no clock change disturbs
  seen: null, // when that was, of this machine's clock
  stale: false,
};

const empty = at('empty');

const spacing = 300; // ms between questions after events that come close together
const poll = { timer: 0, busy: false, again: false, began: 0 };

// refresh asks for everything once, and sees to the next time.
async function refresh() {
  clearTimeout(poll.timer);
  if (poll.busy) {
    poll.again = true;
    return;
  }
  poll.busy = true;
  poll.began = performance.now();
  try {
    await askAll();
  } finally {
    poll.busy = false;
    poll.timer = setTimeout(refresh, poll.again ? spacing : document.hidden ? rest : period);
    poll.again = false;
  }
}

async function askAll() {
  let got;
  try {
    got = await Promise.all([api.ask('status'), api.ask('services')]);
  } catch (e) {
    missed(e);
    return;
  }
  arrived(...got);
}

// refreshSoon is for events: a burst of them is one reason to ask, not many.
function refreshSoon() {
  if (poll.busy) poll.again = true;
  else {
    clearTimeout(poll.timer);
    poll.timer = setTimeout(refresh, Math.max(0, poll.began + spacing - performance.now()));
  }
}

function arrived(status, services) {
  login.accepted();
  if (stream.started !== status.started) renewed(status);
  view.status = status;
  view.services = (services || []).map((s) => ({ ...s, listen: s.listen || [], backends: s.backends || [] })); // empty lists may be null
  view.t = performance.now();
  view.seen = new Date();
  if (view.stale) stream.hurry();
  view.stale = false;
  show(at('loss'), false);
  set(document.body, 'class', '');
  const cards = new Map();
  for (const s of view.services) {
    const key = s.name + (s.leaving ? '\nleaving' : '');
    const card = view.cards.get(key) || new Card('s' + ++view.made, showAll);
    card.remember(s, view.t);
    cards.set(key, card);
  }
  view.cards = cards;
  showAll();
  stream.follow(happened);
}

// renewed begins anew with another process: its counters and events start from nothing.
function renewed(status) {
  if (stream.started) {
    const { version } = view.status;
    if (status.version !== version) notify(`sluice is now version ${status.version}, and this page is of ${version}: reload it.`, 'warn');
    view.cards.clear();
    timeline.clear();
    stream.restart();
  }
  stream.started = status.started;
}

function missed(e) {
  if (e instanceof Refusal && e.status === 401) {
    login.needed();
    say(empty, 'Nothing can be shown without a token.');
    set(document.body, 'class', view.seen ? 'stale' : '');
    return;
  }
  view.stale = true;
  const why = e instanceof Refusal ? `sluice answered: ${e.message}` : 'sluice does not answer';
  const since = view.seen ? ` What is shown is of ${clock(view.seen)}, and old.` : '';
  say(at('loss'), `No connection: ${why}.${since} Trying again every 2 seconds.`);
  show(at('loss'), true);
  set(document.body, 'class', 'stale');
  document.title = 'no connection · sluice';
}

function happened(events, lost) {
  const first = !timeline.begun;
  try {
    timeline.add(events, lost);
    if (first) showAll(); // the strips waited for it
  } catch (e) {
    reportError(e); // a fault of the page, which the stream would take for one of the connection
  }
  if (events.length) refreshSoon();
}

function showAll() {
  showHeader(view.status);
  const filtering = at('filter').value.trim() !== '' || at('problems').checked;
  const chosen = view.services.map((s) => ({ s, card: cardOf(s), backends: select(s) })).filter((c) => c.backends);
  const total = chosen.reduce((sum, c) => sum + c.backends.length, 0);
  const all = view.services.reduce((sum, s) => sum + s.backends.length, 0);
  const open = filtering ? total <= filteredOpen : all <= defaultOpen || view.services.length === 1;
  const moment = { t: view.t, now: api.clock, events: timeline.events, known: timeline.known(Date.parse(view.status.started)) };
  for (const c of chosen) c.card.update(c.s, c.backends, c.card.open ?? open, moment);
  say(empty, view.services.length ? 'Nothing matches.' : 'There are no services.');
  arrange(at('services'), chosen.length ? chosen.map((c) => c.card.element) : [empty]);
  say(at('shown'), filtering ? `${count(total)} of ${plural(all, 'backend')}` : '');
  dialogs.update();
  timeline.offer(view.services.map((s) => s.name));
}

const cardOf = (s) => view.cards.get(s.name + (s.leaving ? '\nleaving' : ''));

// select returns the backends of a service that the filters let through, null if the
// service is not to be shown at all.
function select(s) {
  if (at('problems').checked && !hasProblem(s)) return null;
  let backends = at('problems').checked ? s.backends.filter(isProblem) : s.backends;
  const text = at('filter').value.trim().toLowerCase();
  const has = (...texts) => texts.some((t) => t.toLowerCase().includes(text));
  if (text === '' || has(s.name, ...s.listen)) return backends;
  backends = backends.filter((b) => has(b.name, b.address, b.reason, word(stateOf(b))));
  return backends.length ? backends : null;
}

const facts = new Figures(at('facts'));

function showHeader(status) {
  const problems = view.services.reduce((sum, s) => sum + s.backends.filter(isProblem).length, 0);
  document.title = (problems ? `(${problems}) ` : '') + 'sluice';
  say(at('version'), status.version);
  say(at('ready'), status.ready ? 'ready' : 'not ready: ' + (status.not_ready || (status.draining ? 'draining' : 'no reason given')));
  set(at('ready'), 'class', status.ready ? 'badge good' : 'badge bad');
  facts.put('uptime', uptime(milliseconds(status.uptime)));
  facts.put('sessions', count(status.sessions));
  facts.put('usable', `${count(status.usable)} / ${count(status.backends)}`, status.usable < status.backends ? (status.usable ? 'warn' : 'bad') : '');
  facts.put('revision', String(status.revision));
  const reload = status.reload || {};
  show(at('refused'), Boolean(reload.error));
  const when = Date.parse(reload.time) > 0 ? ` at ${clock(new Date(reload.time))}` : '';
  say(at('refused'), `The last reload was refused${when}, so the configuration before it is in force: ${reload.error || ''}`);
}

const findService = (name) => view.services.find((s) => s.name === name && !s.leaving);

// find returns a service and its backend of that name, undefined if either is gone.
function find(serviceName, backendName) {
  const service = findService(serviceName);
  const backend = service && service.backends.find((b) => b.name === backendName && !b.leaving);
  return backend && { service, backend };
}

// act asks for a change and tells how that ended.
async function act(done, method, path, body, etag) {
  try {
    if (view.stale) throw new Error('there is no connection.');
    await api.change(method, path, body, etag);
    notify(done, 'good');
  } catch (e) {
    if (e.status === 401) login.needed();
    if (e.status === 412) notify('Nothing was changed: somebody else made a change since this was shown. The page shows it now; look again.', 'warn');
    else if (e instanceof Refusal) notify('Nothing was changed: ' + e.message, 'bad');
    else if (view.stale) notify('Nothing was changed: ' + e.message, 'bad');
    else notify('It is not known whether the change was made: no answer came.', 'bad');
  }
  refresh();
}

function unfold(open) {
  for (const card of view.cards.values()) card.open = open;
  if (view.status) showAll();
}

const refilter = () => { if (view.status) showAll(); };
at('filter').addEventListener('input', refilter);
at('problems').addEventListener('change', refilter);
at('unfold').addEventListener('click', () => unfold(true));
at('fold').addEventListener('click', () => unfold(false));
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
dialogs.start();
timeline.start();
login.start(refresh);
refresh();
