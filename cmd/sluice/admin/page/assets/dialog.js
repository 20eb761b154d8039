// Dialogs and notices. Their forms are handled here; nothing is ever submitted.

const dialogs = {
  accept: null, // what the open question does when it is confirmed
  compose: null, // what makes it

  start() {
    at('ask-no').addEventListener('click', () => at('ask').close());
    at('ask-form').addEventListener('submit', (e) => {
      e.preventDefault();
      const accept = this.accept;
      at('ask').close();
      if (accept) accept(at('ask-for').value);
    });
    // The event comes after the dialog is closed: by then there may be another question.
    at('ask').addEventListener('close', () => { if (!at('ask').open) this.accept = this.compose = null; });
    at('notice-close').addEventListener('click', () => show(at('notice'), false));
  },

  // ask puts the question that compose makes, {title, lines, warning, verb}, with choices,
  // [[value, label]], if there are any; accept is called with the choice. compose returns
  // nothing when what it asks about is gone. Focus starts on Cancel: a key pressed twice
  // changes nothing.
  ask(compose, accept, choices = []) {
    if (at('ask').open || !compose()) return;
    this.compose = compose;
    this.accept = accept;
    this.update();
    show(at('ask-choice'), choices.length > 0);
    at('ask-for').replaceChildren(...choices.map(([value, label]) => make('option', { value }, label)));
    at('ask').showModal();
    at('ask-no').focus();
  },

  // update keeps an open question true: backends die while it is read.
  update() {
    if (!this.compose) return;
    const question = this.compose();
    if (!question) {
      at('ask').close();
      return;
    }
    say(at('ask-title'), question.title);
    const lines = [...at('ask-text').children];
    arrange(at('ask-text'), question.lines.map((_, i) => lines[i] || make('p')));
    question.lines.forEach((line, i) => say(at('ask-text').children[i], line));
    say(at('ask-warning'), question.warning || '');
    show(at('ask-warning'), Boolean(question.warning));
    say(at('ask-yes'), question.verb);
  },
};

// notify shows the outcome of what the operator did, until it is dismissed or followed.
function notify(text, tone) {
  set(at('notice'), 'class', 'banner ' + tone);
  show(at('notice'), true);
  say(at('notice-text'), text);
}

const login = {
  tried: false,
  done: null,

  // start takes what is to be done once there is a token.
  start(done) {
    this.done = done;
    at('login-no').addEventListener('click', () => at('login').close());
    at('auth-again').addEventListener('click', () => this.open());
    at('login-form').addEventListener('submit', (e) => {
      e.preventDefault();
      sessionStorage.setItem(tokenKey, at('login-token').value);
      this.tried = true;
      at('login-token').value = '';
      at('login').close();
      this.done();
    });
  },

  // needed is called at each 401. The dialog opens once for each refusal: who cancels it
  // finds a button.
  needed() {
    if (!at('auth').hidden && !this.tried) return;
    show(at('auth'), true);
    if (!at('login').open) this.open();
  },

  open() {
    show(at('login-wrong'), this.tried);
    this.tried = false;
    if (at('ask').open) at('ask').close();
    at('login').showModal();
    at('login-token').focus();
  },

  // accepted is called at each answer that is not 401.
  accepted() {
    this.tried = false;
    show(at('auth'), false);
    if (at('login').open) at('login').close();
  },
};
