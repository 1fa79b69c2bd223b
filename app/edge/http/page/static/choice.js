// What is chosen on the page: a view, a measure, the windows' length, how many windows back, a zone. It stands in the
// address too, so that what is seen can be sent to somebody.

import { heading, lengthOf, milliseconds } from "/static/figures.js";

const LENGTHS = ["5m", "15m", "1h", "3h", "1d"];
const MULTIPLES = [1, 2, 4]; // of a pane of which none of these is a multiple
const USUAL = "1h";
const NOT_ONE_NUMBER = ["histogram", "quantile"];

export class Choice {
  constructor(form, now, views, changed) {
    this.form = form;
    this.now = now;
    this.views = views;
    this.changed = changed;
    this.zone = null;
    fill(form.view, views.map(({ name }) => [name, name]));
    form.addEventListener("change", () => this.read());
    form.addEventListener("submit", (event) => event.preventDefault());
    now.addEventListener("click", () => this.set({ back: 0 }));
  }

  // As the address has it, as far as it can be.
  begin() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.zone = Number(wanted.get("zone")) || null;
    this.take(this.views.find(({ name }) => name === wanted.get("view")) ?? this.views[0], wanted);
  }

  set(change) {
    Object.assign(this, change);
    const { view, measure, length, back } = this;
    Object.assign(this.form.view, { value: view.name });
    Object.assign(this.form.measure, { value: measure });
    Object.assign(this.form.length, { value: length });
    Object.assign(this.form.back, { value: -back });
    this.now.disabled = back === 0;
    const told = { view: view.name, measure, window: length, ...(this.zone === null ? {} : { zone: this.zone }) };
    history.replaceState(null, "", `#${new URLSearchParams(told)}`);
    this.changed(change);
  }

  read() {
    const view = this.views.find(({ name }) => name === this.form.view.value);
    if (view !== this.view) this.take(view, new URLSearchParams());
    else {
      const back = -Number(this.form.back.value);
      this.set({ measure: this.form.measure.value, length: this.form.length.value, back });
    }
  }

  take(view, wanted) {
    const shown = [...view.measures, ...view.figures].filter(({ kind }) => !NOT_ONE_NUMBER.includes(kind));
    const measures = shown.map(({ name }) => name);
    const lengths = lengthsOf(view.window.pane);
    fill(this.form.measure, measures.map((name) => [name, heading(name)]));
    fill(this.form.length, lengths.map((length) => [length, length]));
    const measure = among(wanted.get("measure"), measures) ?? measures[0];
    this.set({ view, measure, length: among(wanted.get("window"), lengths) ?? among(USUAL, lengths) ?? lengths[0], back: 0 });
  }
}

const among = (value, all) => (all.includes(value) ? value : undefined);

// Of a view: its pane, and of the usual lengths those that are made of its panes.
function lengthsOf(pane) {
  const pane_ms = milliseconds(pane);
  const usual = LENGTHS.filter((length) => milliseconds(length) % pane_ms === 0);
  if (!usual.length) return MULTIPLES.map((panes) => lengthOf(panes * pane_ms));
  return usual.includes(pane) ? usual : [pane, ...usual];
}

function fill(select, choices) {
  select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
}
