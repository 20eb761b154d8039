// What is derived from the API's numbers; nothing here touches the document.

const remembered = 120e3; // ms of the small charts
const stripSpan = 600e3; // ms of a strip
const stripStep = 5e3; // strips move on in steps, since each is drawn anew

// refusals are the ends of clients that got no session.
const refusals = ['connect-failed', 'no-backend', 'backends-full', 'denied', 'limit-connections',
  'limit-per-source', 'descriptors', 'proxy-header', 'proxy-timeout', 'paused'];

const words = { unused: 'not used' };
const word = (state) => words[state] || state;

// stateOf is a backend's state in one word: what people asked for goes before what was
// found, as it does where sessions are given out.
function stateOf(b) {
  if (b.leaving) return 'leaving';
  if (b.admin === 'maint' || b.admin === 'drain') return b.admin;
  if (b.health === 'down') return 'down';
  if (b.ejected) return 'ejected';
  if (b.health === 'up') return b.usable ? 'up' : 'unused';
  return 'unknown';
}

const isProblem = (b) => !b.usable || b.ejected || b.health === 'down';
const hasProblem = (s) => s.paused !== undefined || s.held > 0 || s.leaving || s.backends.some(isProblem);

// isOut tells whether it is health that keeps a backend from sessions.
const isOut = (b) => b.health === 'down' || b.ejected || (stateOf(b) === 'unused' && b.weight > 0);
const outWords = ['down', 'ejected', 'conflict'];

// keyOf tells backends apart: one that leaves may have the name of one that was added.
const keyOf = (b) => b.name + '\n' + b.address + '\n' + (b.leaving ? 'leaving' : '');

// History keeps the last two minutes of a service.
class History {
  samples = []; // {t, sessions, fresh, refused, p99}
  base = null; // the counters from which the next rates are taken

  // add takes a service as it is at t, in ms. Answers that come close together, after an
  // event, make no sample: a rate over an instant says nothing.
  add(service, t) {
    if (this.base && t - this.base.t < 1000) return;
    const now = { t, totals: new Map(service.backends.map((b) => [keyOf(b), b.total])), refused: refusedOf(service) };
    if (this.base) {
      const seconds = (t - this.base.t) / 1000;
      this.samples.push({
        t,
        sessions: service.sessions,
        fresh: grown(this.base.totals, now.totals) / seconds,
        refused: Math.max(0, now.refused - this.base.refused) / seconds,
        p99: slowestOf(service),
      });
    }
    this.base = now;
    while (this.samples.length && this.samples[0].t < t - remembered) this.samples.shift();
  }

  // now is the mean of the last three samples, which is calmer than the last one.
  now(key) {
    const last = this.samples.slice(-3);
    return last.length ? last.reduce((sum, s) => sum + s[key], 0) / last.length : 0;
  }
}

const refusedOf = (service) => refusals.reduce((sum, why) => sum + ((service.ended || {})[why] || 0), 0);
const slowestOf = (service) => Math.max(0, ...service.backends.map((b) => milliseconds(b.connect_p99)));

// grown sums what counters gained; a backend that came or went counts nothing.
function grown(before, after) {
  let sum = 0;
  for (const [key, n] of after) if (before.has(key)) sum += Math.max(0, n - before.get(key));
  return sum;
}

// outages goes back from the present state through the transitions, the newest first, and
// returns the intervals in which backends were out: [{from, to, out}] in ms.
function outages(service, events, start, end) {
  let out = service.backends.filter(isOut).length;
  let to = end;
  const intervals = [];
  for (const e of events) {
    if (e.kind !== 'transition' || e.service !== service.name) continue;
    const change = outWords.includes(e.to) - outWords.includes(e.from);
    const t = Date.parse(e.time);
    if (change === 0 || t > end) continue;
    if (t < start) break;
    if (out > 0) intervals.push({ from: t, to, out });
    to = t;
    out = Math.min(service.backends.length, Math.max(0, out - change));
  }
  if (out > 0) intervals.push({ from: start, to, out });
  return intervals.filter((i) => i.to > i.from);
}
