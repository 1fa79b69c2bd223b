// What the page's address asks for, of what there is: behind its "#", in the words that `told` writes it with.

import { instant, milliseconds, lengthOf } from "/static/figures.js";

const LENGTHS = ["5m", "15m", "1h", "3h", "1d"];
const MULTIPLES = [1, 2, 4]; // of a pane of which none of these is a multiple
const NO_AMOUNT = ["histogram", "quantile"];
const NAMES = ["view", "measure", "window", "to", "zone"];
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/; // with its zone, as answers take it
const LONGEST = 60;

// What a view tells that is one amount, by which a map can be coloured: an instant is none.
export function amountsOf(view) {
  const isAmount = ({ kind, unit }) => !NO_AMOUNT.includes(kind) && unit !== "instant";
  return [...view.measures, ...view.figures].filter(isAmount);
}

// Of a view: its pane, and of the usual lengths those that are made of its panes.
export function lengthsOf({ window: { pane } }) {
  const pane_ms = milliseconds(pane);
  const usual = LENGTHS.filter((length) => milliseconds(length) % pane_ms === 0);
  if (!usual.length) return MULTIPLES.map((panes) => lengthOf(panes * pane_ms));
  return usual.includes(pane) ? usual : [pane, ...usual];
}

// The end of the last whole pane up to then: answers round down to it.
export function paneEnd({ window: { pane, offset } }, at_ms) {
  const [pane_ms, offset_ms] = [pane, offset ?? "0s"].map(milliseconds);
  return Math.floor((at_ms - offset_ms) / pane_ms) * pane_ms + offset_ms;
}

// What is asked for by name, undefined where nothing is, or nothing that there is; `unusable`: of what that was said.
export function addressed(views) {
  const given = new URLSearchParams(location.hash.slice(1));
  const unusable = [...given].filter(([name], at) => !NAMES.includes(name) || isAgain(given, at)).map(shortened);
  const read = (name, find) => {
    const text = given.get(name);
    const found = text === null ? undefined : find(text);
    if (text !== null && found === undefined) unusable.push(shortened([name, text]));
    return found;
  };
  const view = read("view", (text) => named(text, views)) ?? views[0];
  const measure = read("measure", (text) => named(text, amountsOf(view)));
  const length = read("window", (text) => lengthsOf(view).find((one) => one === text));
  const end = read("to", (text) => paneEndIn(text, view)) ?? null;
  const zone = read("zone", (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined)) ?? null;
  return { view, measure, length, end, zone, unusable };
}

export function told({ view, measure, length, end, zone }) {
  const given = Object.entries({ to: end, zone }).filter(([, value]) => value !== null);
  return `#${new URLSearchParams([["view", view.name], ["measure", measure.name], ["window", length], ...given])}`;
}

function isAgain(given, at) {
  const names = [...given.keys()];
  return names.indexOf(names[at]) < at;
}

const shortened = ([name, text]) => {
  const said = `${name}=${text}`;
  return said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said;
};
const named = (text, all) => all.find(({ name }) => name === text);

function paneEndIn(text, view) {
  const at_ms = INSTANT.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at_ms)) return undefined;
  const end = instant(paneEnd(view, at_ms));
  return INSTANT.test(end) ? end : undefined; // not of a year of five digits, or before the first
}
