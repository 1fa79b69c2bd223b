// What stands beside the map: the highest zones, the busiest routes, one zone's last windows.

import { amountsOf } from "/static/address.js";
import { Refused, ask, groupText } from "/static/answers.js";
import { heading, instant, milliseconds } from "/static/figures.js";
import { drawBars, fillTable, slotsUntil, valueOf } from "/static/lists.js";

const HIGHEST = 10;
const BARS = 24;
const MOST_ROWS = 1000;
const HOUR_MS = 3600e3;
const BEFORE_MS = [HOUR_MS, 168 * HOUR_MS];
const KEPT = 100;

export const byId = (id) => document.getElementById(id);
export const rowsOf = (view) => `/v1/views/${view.name}/rows`;

export function zoneName(row, group) {
  const number = row.group[group];
  return row.group[`${group}_name`] ?? (number === null ? "no zone" : `zone ${number}`);
}

// The zones with the highest figures of the window that the map shows, each beside what it was an hour and a week before.
export async function showHighest({ view, measure, length }, { rows, window }, choose, isCurrent) {
  const [{ name: zone }] = view.groups;
  const byValue = (one, other) => (valueOf(other, measure) ?? -Infinity) - (valueOf(one, measure) ?? -Infinity);
  const highest = rows.toSorted(byValue).slice(0, HIGHEST);
  const before = await earlier(view, window, highest, { last: length, measures: measure.name });
  if (!isCurrent()) return;
  byId("highest-figure").textContent = heading(measure.unit, measure.name);
  const nameOf = (row) => zoneName(row, zone);
  fillTable(byId("highest"), { view, measure, window, rows: highest, before, nameOf, choose });
}

const past = new Map();

// What there was of these rows in the windows an hour and a week before.
function earlier(view, window, rows, asked) {
  const held = (name) => [...new Set(rows.map((row) => groupText(row.group[name])))].toSorted();
  const groups = Object.fromEntries(view.groups.map(({ name }) => [name, held(name)]));
  const wanted = { ...asked, limit: MOST_ROWS, ...groups };
  return Promise.all(BEFORE_MS.map((by_ms) => (rows.length ? windowBefore(view, window, by_ms, wanted) : null)));
}

// An answer about a window that ended so much before, asked for once; null where there is none.
function windowBefore(view, window, by_ms, asked) {
  if (by_ms % milliseconds(view.window.pane)) return null;
  const parameters = { ...asked, to: instant(Date.parse(window.end) - by_ms) };
  const key = JSON.stringify([view.name, parameters]);
  if (past.size > KEPT) past.clear();
  if (!past.has(key)) past.set(key, ask(rowsOf(view), parameters).catch((error) => forget(key, error)));
  return past.get(key);
}

function forget(key, error) {
  if (error.problem?.retryable ?? true) past.delete(key);
  return null;
}

// Routes with the highest of their view's first figure, which is rides, in the window that the map shows.
export async function showRoutes(view, { length }, { window }, isCurrent) {
  const [from, to] = view.groups.map(({ name }) => name);
  const [measure] = amountsOf(view);
  const asked = { last: length, to: window.end, top: HIGHEST, by: measure.name, measures: measure.name };
  const { data } = await ask(rowsOf(view), asked).catch(() => ({ data: [] }));
  const before = await earlier(view, window, data, { last: length, measures: measure.name });
  if (!isCurrent()) return;
  byId("city-routes").hidden = data.length === 0;
  byId("routes-figure").textContent = heading(measure.unit, measure.name);
  const nameOf = (row) => `${zoneName(row, from)} → ${zoneName(row, to)}`;
  fillTable(byId("routes"), { view, measure, window, rows: data, before, nameOf });
}

// One zone's windows, of full hours or days, up to the one in which the window ends that the map shows; `refuse` is
// called where there can be no such zone.
export async function showZone({ view, measure, length, zone }, { window }, name, refuse, isCurrent) {
  const slots = slotsUntil(window.end, length, view.window.offset ?? "0s", BARS);
  const [{ name: group }] = view.groups;
  const note = byId("zone-note");
  const asked = { window: length, from: slots[0].start, to: slots.at(-1).end, [group]: groupText(zone), measures: measure.name };
  byId("city-zone").hidden = false;
  byId("zone-name").textContent = name;
  try {
    const { data: rows } = await ask(rowsOf(view), asked);
    if (!isCurrent()) return;
    drawBars(byId("zone-bars"), { view, measure, slots, rows });
    const said = rows.length ? "each bar leads to its records" : "nothing was counted here";
    note.textContent = `${heading(measure.unit, measure.name)}, the last ${BARS} × ${length}; ${said}`;
  } catch (error) {
    if (!isCurrent()) return;
    note.textContent = error instanceof Refused ? error.message : "The worker cannot be reached.";
    if (error.problem?.parameter === group) refuse();
  }
}
