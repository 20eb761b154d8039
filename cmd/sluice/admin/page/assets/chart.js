// Small charts and strips, drawn in a fixed box that the style scales.

const chartWidth = 120;
const chartHeight = 28;

// Chart is a line over the last two minutes, with its newest value in words.
class Chart {
  constructor(title, hint, key, format) {
    this.key = key;
    this.format = format;
    this.value = make('b');
    this.most = make('small');
    this.area = draw('path', { class: 'area' });
    this.line = draw('path', { class: 'line' });
    const box = draw('svg', {
      viewBox: `0 0 ${chartWidth} ${chartHeight}`, preserveAspectRatio: 'none', 'aria-hidden': 'true',
    }, this.area, this.line);
    this.element = make('div', { class: 'chart ' + key, title: hint },
      make('p', {}, make('span', {}, title), this.value, this.most), box);
  }

  update(history, t, value) {
    const points = history.samples.map((s) => [s.t, s[this.key]]);
    const most = Math.max(0, ...points.map((p) => p[1]));
    say(this.value, this.format(value));
    say(this.most, most > 0 ? 'most ' + this.format(most) : '');
    const x = (when) => round(chartWidth * (1 - (t - when) / remembered));
    const y = (v) => round(chartHeight - 1.5 - (chartHeight - 4) * (most > 0 ? v / most : 0));
    const line = points.map(([when, v]) => `${x(when)} ${y(v)}`).join('L');
    set(this.line, 'd', line && 'M' + line);
    set(this.area, 'd', line && `M${x(points[0][0])} ${chartHeight}L${line}L${x(points.at(-1)[0])} ${chartHeight}Z`);
  }
}

const round = (n) => Math.round(n * 10) / 10;

// Strip shows ten minutes of a service: when backends were out, and when people acted.
class Strip {
  constructor() {
    this.paths = ['unknown', 'some', 'all', 'act'].map((name) => draw('path', { class: name }));
    this.title = draw('title');
    this.element = draw('svg', { class: 'strip', viewBox: '0 0 600 8', preserveAspectRatio: 'none', role: 'img' },
      this.title, draw('rect', { width: '600', height: '8', class: 'fine' }), ...this.paths);
  }

  // update draws; nothing is known of the time before known.
  update(service, events, known, now) {
    const end = Math.ceil((now + 1000) / stripStep) * stripStep;
    const start = end - stripSpan;
    const from = Math.min(end, Math.max(start, known));
    const box = (a, b) => `M${round((a - start) / 1000)} 0H${round((b - start) / 1000)}V8H${round((a - start) / 1000)}Z`;
    const intervals = outages(service, events, from, end);
    const all = intervals.filter((i) => i.out >= service.backends.length);
    const some = intervals.filter((i) => i.out < service.backends.length);
    const acts = events.filter((e) => (e.kind === 'admin' || e.kind === 'reload') && e.service === service.name && Date.parse(e.time) > start);
    const ticks = acts.map((e) => box(Date.parse(e.time) - 1000, Date.parse(e.time) + 1000));
    const drawn = [from > start ? box(start, from) : '', some.map((i) => box(i.from, i.to)).join(''),
      all.map((i) => box(i.from, i.to)).join(''), ticks.join('')];
    drawn.forEach((d, i) => set(this.paths[i], 'd', d));
    say(this.title, 'last 10 minutes: ' + summary(some, all, acts.length));
  }
}

// summary is the strip for who cannot see it.
function summary(some, all, acts) {
  const length = (list) => list.reduce((sum, i) => sum + i.to - i.from, 0);
  const parts = [];
  if (all.length) parts.push('no backend was up for ' + span(length(all)));
  if (some.length) parts.push('some backends were out for ' + span(length(some)));
  if (acts) parts.push(plural(acts, 'admin action'));
  return parts.join(', ') || 'nothing happened';
}
