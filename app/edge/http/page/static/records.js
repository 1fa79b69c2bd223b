// The first records behind a figure, as a table: where each stands, and its values.

import { ABSENT } from "/static/figures.js";
import { element } from "/static/lists.js";
import { byId } from "/static/panels.js";

export const SHOWN = 20;
const PLACE = ["topic", "partition", "offset"];
const LONGEST = 80;

// `count`: of all that the row is made of. Columns in which none of these has a value are left out.
export function showRecords(records, count) {
  byId("evidence-found").hidden = records.length === 0;
  const of = records.length < count ? `The first ${records.length} of its ${count.toLocaleString("en-US")}` : "Its";
  byId("evidence-caption").textContent = `${of} records`;
  const named = new Set(records.flatMap(({ values }) => Object.keys(values)));
  const names = [...named].filter((name) => records.some(({ values }) => (values[name] ?? null) !== null));
  const place = records.some(({ added }) => added) ? [...PLACE, "added"] : PLACE;
  byId("evidence-columns").replaceChildren(...[...place, ...names].map((name) => element("th", { scope: "col" }, name)));
  byId("evidence-records").replaceChildren(...records.map((record) => drawn(record, place, names)));
}

function drawn(record, place, names) {
  const [topic, ...at] = place.map((name) => text(record[name]));
  const values = names.map((name) => text(record.values[name] ?? null));
  const cells = [...at, ...values].map((value) => element("td", {}, value));
  return element("tr", {}, element("th", { scope: "row" }, topic), ...cells);
}

function text(value) {
  const whole = value === null ? ABSENT : String(value);
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
}
