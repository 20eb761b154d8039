// Events as they come. EventSource cannot send a token, so the stream is read by hand.

const slowest = 15000; // ms between attempts to connect

const stream = {
  last: 0, // ID of the newest event
  started: '', // of the process whose events these are
  wait: 0,
  stop: null, // ends the connection
  running: false,

  // follow calls take with lists of events, the oldest first, for as long as the page is
  // open. A process that was started anew counts from the beginning.
  async follow(take) {
    if (this.running) return;
    this.running = true;
    while (this.running) {
      try {
        await this.fill(take);
        await this.listen(take);
      } catch (e) {
        if (e instanceof Refusal && e.status === 401) this.running = false; // until there is a token
      }
      this.wait = Math.min(slowest, this.wait * 2 || 500);
      if (this.running) await new Promise((done) => setTimeout(done, this.wait * (0.75 + Math.random() / 2)));
    }
  },

  // restart forgets the events of a process that is gone.
  restart() {
    this.last = 0;
    if (this.stop) this.stop.abort();
  },

  // hurry ends a wait that grew while there was no connection.
  hurry() {
    this.wait = 0;
  },

  async fill(take) {
    const got = await api.ask('events?since=' + this.last);
    this.pass(got.events || [], take, got.lost && this.last === 0);
  },

  pass(events, take, lost) {
    const fresh = events.filter((e) => e.id > this.last);
    if (fresh.length) this.last = fresh[fresh.length - 1].id;
    take(fresh, lost);
  },

  async listen(take) {
    this.stop = new AbortController();
    const answer = await fetch('api/v1/events/stream', {
      headers: api.headers({ Accept: 'text/event-stream', 'Last-Event-ID': String(this.last) }),
      cache: 'no-store', signal: this.stop.signal,
    });
    if (!answer.ok) throw new Refusal(answer.status, '');
    this.wait = 0;
    const parser = new Parser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      await this.receive(parser.feed(value), take);
    }
  },

  // receive asks for what a slow reader was not sent: IDs grow by one.
  async receive(events, take) {
    if (!events.length) return;
    if (events[0].id > this.last + 1) await this.fill(take);
    this.pass(events, take, false);
  },
};

// Parser reads the text/event-stream format of the HTML standard, as far as the API uses it.
class Parser {
  rest = '';
  data = '';

  // feed returns the events that text completes.
  feed(text) {
    const lines = (this.rest + text).split(/\r?\n/);
    this.rest = lines.pop();
    const events = [];
    for (const line of lines) {
      if (line.startsWith('data:')) this.data += line.slice(5);
      if (line !== '' || this.data === '') continue;
      const e = JSON.parse(this.data);
      if (e.id) events.push(e);
      this.data = '';
    }
    return events;
  }
}
