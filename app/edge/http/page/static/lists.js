// Rows as lists: of the highest figures with what they were before, and of one zone's windows as bars.

import { groupText } from "/static/answers.js";
import { svg } from "/static/city_map.js";
import { ABSENT, figure, instant, milliseconds, span } from "/static/figures.js";

const PAGE_RECORDS = 1000; // the most
const BAR = { width: 12, gap: 2, height: 110 };

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function valueOf(row, { name }) {
  return row?.measures?.[name] ?? row?.figures?.[name] ?? null;
}

// Where the records are that a row's figures are made of.
function evidenceOf(view, row, window) {
  const named = view.groups.map(({ name }) => [name, groupText(row.group[name])]);
  const told = new URLSearchParams([...named, ["from", window.start], ["to", window.end], ["limit", PAGE_RECORDS]]);
  return `/v1/views/${view.name}/evidence?${told}`;
}

// A row for each of `rows`: its name, its figure with its evidence, and what it was in each answer of `before`, which is
// null where there was none. With `choose` the names are buttons, but of rows without a group, which cannot be chosen.
export function fillTable(body, { view, measure, window, rows, before, nameOf, choose }) {
  const filled = rows.map((row) => {
    const evidence = element("a", { href: evidenceOf(view, row, window) }, figure(measure.unit, valueOf(row, measure)));
    evidence.title = "its records, and whether they give it";
    const was = before.map((answer) => element("td", { class: "figure" }, earlier(view, answer, row, measure)));
    const isOne = view.groups.every(({ name }) => row.group[name] !== null);
    const name = choose && isOne ? button(nameOf(row), () => choose(row)) : nameOf(row);
    const figures = element("td", { class: "figure" }, evidence);
    return element("tr", {}, element("th", { scope: "row" }, name), figures, ...was);
  });
  body.replaceChildren(...filled);
}

function button(text, act) {
  const made = element("button", { type: "button", class: "plain" }, text);
  made.addEventListener("click", act);
  return made;
}

function earlier(view, answer, row, measure) {
  if (answer === null) return ABSENT;
  const same = (other) => view.groups.every(({ name }) => other.group[name] === row.group[name]);
  return figure(measure.unit, valueOf(answer.data.find(same), measure));
}

// A bar for each window that has a row, each the way to its records; `slots` are all windows of the chart.
export function drawBars(drawing, { view, measure, slots, rows }) {
  const byStart = new Map(rows.map((row) => [row.window.start, row]));
  const top = Math.max(...rows.map((row) => valueOf(row, measure) ?? 0), Number.EPSILON);
  const step = BAR.width + BAR.gap;
  drawing.setAttribute("viewBox", `0 0 ${slots.length * step} ${BAR.height}`);
  const bars = slots.map((window, at) => {
    const row = byStart.get(window.start);
    const value = valueOf(row, measure);
    if (value === null) return null;
    const tall = Math.max(1, (BAR.height * Math.max(0, value)) / top);
    const told = `${span(window)}: ${figure(measure.unit, value)}, ${row.state}`;
    const bar = svg("rect", { x: at * step, y: BAR.height - tall, width: BAR.width, height: tall });
    const link = svg("a", { href: evidenceOf(view, row, window), "aria-label": told }, svg("title", {}, told), bar);
    link.dataset.state = row.state;
    return link;
  });
  drawing.replaceChildren(...bars.filter((bar) => bar !== null));
}

// So many windows in a row, the last of which this instant is in or ends; oldest first.
export function slotsUntil(end, length, offset, count) {
  const [size_ms, offset_ms] = [milliseconds(length), milliseconds(offset)];
  const last_ms = Math.ceil((Date.parse(end) - offset_ms) / size_ms) * size_ms + offset_ms;
  const edge = (at) => instant(last_ms - (count - at) * size_ms);
  return Array.from({ length: count }, (_, at) => ({ start: edge(at), end: edge(at + 1) }));
}
