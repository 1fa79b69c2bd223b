// What is chosen on the page: a view, a measure, the windows' length, where the window ends, a zone. It stands in the
// address too, so that what is seen can be sent to somebody.

import { heading, instant, lengthOf, milliseconds } from "/static/figures.js";

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
    form.addEventListener("change", (event) => this.read(event.target));
    form.addEventListener("submit", (event) => event.preventDefault());
    now.addEventListener("click", () => this.set({ end: null }));
  }

  // As the address has it, as far as it can be.
  begin() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.zone = Number(wanted.get("zone")) || null;
    this.take(this.views.find(({ name }) => name === wanted.get("view")) ?? this.views[0], wanted);
  }

  set(change) {
    Object.assign(this, change);
    const { view, measure, length, end } = this;
    Object.assign(this.form.view, { value: view.name });
    Object.assign(this.form.measure, { value: measure });
    Object.assign(this.form.length, { value: length });
    if (end === null) this.form.back.value = 0;
    this.showBack();
    this.now.disabled = end === null;
    const chosen = { to: end, zone: this.zone };
    const given = Object.entries(chosen).filter(([, value]) => value !== null);
    const told = [["view", view.name], ["measure", measure], ["window", length], ...given];
    history.replaceState(null, "", `#${new URLSearchParams(told)}`);
    this.changed(change);
  }

  read(moved) {
    const view = this.views.find(({ name }) => name === this.form.view.value);
    if (view !== this.view) {
      this.take(view, new URLSearchParams());
      return;
    }
    const end = moved === this.form.back ? this.endBack(-Number(moved.value)) : this.end;
    this.set({ measure: this.form.measure.value, length: this.form.length.value, end });
  }

  take(view, wanted) {
    const shown = [...view.measures, ...view.figures].filter(({ kind }) => !NOT_ONE_NUMBER.includes(kind));
    const measures = shown.map(({ name }) => name);
    const lengths = lengthsOf(view.window.pane);
    fill(this.form.measure, measures.map((name) => [name, heading(name)]));
    fill(this.form.length, lengths.map((length) => [length, length]));
    const measure = among(wanted.get("measure"), measures) ?? measures[0];
    const length = among(wanted.get("window"), lengths) ?? among(USUAL, lengths) ?? lengths[0];
    this.newest_ms = null;
    this.set({ view, measure, length, end: instantIn(wanted.get("to")) });
  }

  // Up to where the answers are complete: from where on windows are counted back.
  place(as_of) {
    if (as_of === null) return;
    const [pane_ms, offset_ms] = [this.view.window.pane, this.view.window.offset ?? "0s"].map(milliseconds);
    this.newest_ms = Math.floor((Date.parse(as_of) - offset_ms) / pane_ms) * pane_ms + offset_ms;
    this.showBack();
  }

  // The one that is looked at: the newest, if no end is chosen.
  get window() {
    const end_ms = this.end === null ? this.newest_ms : Date.parse(this.end);
    return { start: instant(end_ms - milliseconds(this.length)), end: instant(end_ms) };
  }

  showBack() {
    const { back } = this.form;
    back.disabled = this.newest_ms === null;
    if (back.disabled || this.end === null) return; // not under the hand of who moves it
    back.value = -Math.ceil((this.newest_ms - Date.parse(this.end)) / milliseconds(this.length));
  }

  endBack(windows) {
    return windows ? instant(this.newest_ms - windows * milliseconds(this.length)) : null;
  }
}

const among = (value, all) => (all.includes(value) ? value : undefined);
const instantIn = (text) => (Number.isNaN(Date.parse(text)) ? null : instant(Date.parse(text)));

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
