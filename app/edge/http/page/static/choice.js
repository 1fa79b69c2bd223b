// What is chosen on the page: a view, a measure, the windows' length, where the window ends, a zone. It stands in the
// address too, so that what is seen can be sent to somebody.

import { addressed, amountsOf, lengthsOf, paneEnd, told } from "/static/address.js";
import { heading, instant, milliseconds } from "/static/figures.js";

const USUAL = "1h";

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

  // As the address has it, as far as it can be; gives what of it cannot.
  begin() {
    const { unusable, ...wanted } = addressed(this.views);
    this.take(wanted);
    return unusable;
  }

  set(change) {
    Object.assign(this, change);
    const { view, measure, length, end } = this;
    Object.assign(this.form.view, { value: view.name });
    Object.assign(this.form.measure, { value: measure.name });
    Object.assign(this.form.length, { value: length });
    if (end === null) this.form.back.value = 0;
    this.showBack();
    this.now.disabled = end === null;
    history.replaceState(null, "", told(this));
    this.changed(change);
  }

  read(moved) {
    const view = this.views.find(({ name }) => name === this.form.view.value);
    if (view !== this.view) {
      this.take({ view, end: null });
      return;
    }
    const measure = amountsOf(view).find(({ name }) => name === this.form.measure.value);
    const end = moved === this.form.back ? this.endBack(-Number(moved.value)) : this.end;
    this.set({ measure, length: this.form.length.value, end });
  }

  take({ view, measure, length, ...wanted }) {
    const [amounts, lengths] = [amountsOf(view), lengthsOf(view)];
    fill(this.form.measure, amounts.map(({ name, unit }) => [name, heading(unit, name)]));
    fill(this.form.length, lengths.map((one) => [one, one]));
    const usual = lengths.includes(USUAL) ? USUAL : lengths[0];
    this.newest_ms = null;
    this.set({ view, measure: measure ?? amounts[0], length: length ?? usual, ...wanted });
  }

  // Up to where the answers are complete: from where on windows are counted back.
  place(as_of) {
    if (as_of === null) return;
    this.newest_ms = paneEnd(this.view, Date.parse(as_of));
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

function fill(select, choices) {
  select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
}
