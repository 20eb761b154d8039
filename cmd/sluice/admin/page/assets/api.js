// The API: questions, changes, and the two credentials.

const tokenKey = 'sluice-token';
const patience = 4000; // ms for one answer

// Refusal is an answer that is not 2xx.
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const api = {
  etag: '', // of the newest list of services, or of the operator's own change after it
  clock: Date.now(), // the server's, in ms: that of this machine may be wrong
  pageToken: document.querySelector('meta[name=sluice-page]').content,

  headers(more = {}) {
    const token = sessionStorage.getItem(tokenKey);
    return token ? { Authorization: 'Bearer ' + token, ...more } : more;
  },

  // ask returns the JSON of a GET.
  async ask(path) {
    const answer = await fetch('api/v1/' + path, {
      headers: this.headers(), cache: 'no-store', signal: AbortSignal.timeout(patience),
    });
    const got = await this.read(answer);
    this.clock = Date.parse(answer.headers.get('Date')) || Date.now();
    if (path === 'services') this.etag = answer.headers.get('ETag') || '';
    return got;
  },

  // change asks for a change of what was seen at the revision of etag.
  async change(method, path, body, etag) {
    let answer = await this.send(method, path, body, etag);
    if (answer.status === 403 && await this.renew()) answer = await this.send(method, path, body, etag);
    const got = await this.read(answer);
    this.etag = answer.headers.get('ETag') || this.etag;
    return got;
  },

  send(method, path, body, etag) {
    const more = { 'Content-Type': 'application/json', 'X-Sluice-Page': this.pageToken };
    if (etag) more['If-Match'] = etag;
    return fetch('api/v1/' + path, {
      method, headers: this.headers(more), signal: AbortSignal.timeout(2 * patience),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  },

  // renew fetches the page token again and tells whether it differs: the process that
  // served this page may have been followed by another.
  async renew() {
    const page = await fetch('./', { cache: 'no-store', signal: AbortSignal.timeout(patience) });
    const found = /name="sluice-page" content="([^"]*)"/.exec(await page.text());
    if (!found || found[1] === this.pageToken) return false;
    this.pageToken = found[1];
    return true;
  },

  async read(answer) {
    const text = await answer.text();
    if (!answer.ok) throw new Refusal(answer.status, fault(text) || 'HTTP status ' + answer.status);
    return text ? JSON.parse(text) : null;
  },
};

// fault returns the message of an error answer, '' if it is of another kind: a proxy
// between may answer as well.
function fault(text) {
  try {
    return JSON.parse(text).error.message || '';
  } catch {
    return '';
  }
}

const backendPath = (service, backend) => servicePath(service) + '/backends/' + encodeURIComponent(backend);
const servicePath = (service) => 'services/' + encodeURIComponent(service);
