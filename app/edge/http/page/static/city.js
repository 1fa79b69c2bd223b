// The city on the first page, as it moves: asks for what is chosen, and shows what is answered.

import { amountsOf } from "/static/address.js";
import { AGAIN_MS, Follower, Refused, ask, fetchInTime, watch } from "/static/answers.js";
import { Choice } from "/static/choice.js";
import { CityMap } from "/static/city_map.js";
import { openEvidence } from "/static/evidence.js";
import { figure, heading, minute, second, span } from "/static/figures.js";
import { valueOf } from "/static/lists.js";
import { byId, rowsOf, showHighest, showRoutes, showZone, zoneName } from "/static/panels.js";

const MOST_ROWS = 1000;
const REFRESH_MS = 15e3;
const ZONES = ["pickup_zone", "dropoff_zone"];
const DRAWN = ["cards", "tables"]; // by the worker
const ADDRESS = "city-address";
const HIDDEN = "Asking the worker again: this page was hidden.";

let city = null;
let refreshes = 0;

class City {
  constructor(views, routes, zones) {
    this.map = new CityMap(byId("city-map"), byId("city-legend"), zones, (zone) => this.choice.set({ zone }));
    this.routes = routes;
    this.shown = null; // the rows on the page, their window and meta
    this.live = null; // the meta of the stream's last event
    this.heartbeat_seconds = Number(byId("city").dataset.heartbeatSeconds);
    this.unusable = []; // of the address, until something else is chosen
    this.turn = 0; // of asking: what was asked for in an earlier one is not waited for any more
    this.choice = new Choice(byId("city-controls"), byId("city-now"), views, (change) => this.changed(change));
    this.begin();
  }

  begin() {
    this.tellOfAddress(this.choice.begin());
  }

  tellOfAddress(unusable) {
    const { view, measure, length, end } = this.choice;
    const instead = [view.name, heading(measure.unit, measure.name), `over ${length}`, end ? `up to ${minute(end)} UTC` : "now"];
    const told = `Of the address could not be used: ${unusable.join(", ")}. Shown instead: ${instead.join(", ")}.`;
    byId(ADDRESS).textContent = unusable.length ? told : "";
    this.unusable = unusable;
  }

  // Of what is chosen and cannot be: `zone`, or `end`, by its name in the address.
  refuse(chosen, name = chosen) {
    const unusable = [...this.unusable, `${name}=${this.choice[chosen]}`];
    this.choice.set({ [chosen]: null });
    this.tellOfAddress(unusable);
  }

  changed(change) {
    this.tellOfAddress([]);
    if (Object.keys(change).join() === "zone") {
      this.showZone();
      return;
    }
    this.askAnew();
  }

  askAnew() {
    this.stop();
    if (document.hidden) return; // it is asked once it is shown
    if (this.choice.end === null) this.follow();
    else this.askPast();
  }

  stop() {
    this.turn += 1;
    this.follower?.stop();
    clearTimeout(this.again);
    this.live = null;
  }

  follow() {
    const { view, measure, length } = this.choice;
    const asked = { last: length, limit: MOST_ROWS, measures: measure.name };
    this.follower = new Follower(`/v1/views/${view.name}/changes`, asked, this.heartbeat_seconds, {
      show: (told) => this.showNewest(told),
      trouble: (why) => this.say(why),
    });
  }

  async askPast() {
    const { view, measure, length, end } = this.choice;
    const isCurrent = this.still();
    const asked = { last: length, to: end, limit: MOST_ROWS, measures: measure.name };
    try {
      const { data, meta } = await ask(rowsOf(view), asked);
      if (isCurrent()) this.show({ rows: data, meta });
    } catch (error) {
      if (!isCurrent()) return;
      if (error.problem?.parameter === "to") {
        this.refuse("end", "to");
        return;
      }
      this.say(error instanceof Refused ? error.message : "The worker cannot be reached.");
      if (error.problem?.retryable ?? true) this.again = setTimeout(() => this.askPast(), AGAIN_MS);
    }
  }

  showNewest({ rows, meta }) {
    if (meta.as_of === null) {
      this.say(["No window is complete yet", heldBack(meta)].filter(Boolean).join(": "));
      return;
    }
    this.live = meta;
    this.show({ rows, meta });
  }

  show({ rows, meta }) {
    const { view, measure } = this.choice;
    const [{ name: zone }] = view.groups;
    this.choice.place(meta.as_of);
    const told = { rows, window: this.choice.window, meta };
    this.shown = told;
    byId("city-figures").hidden = false;
    byId("city-empty").hidden = told.rows.length > 0;
    this.map.paint(measure, new Map(told.rows.map((row) => [row.group[zone], valueOf(row, measure)])));
    byId("city-window").textContent = `${span(told.window)} UTC`;
    const elsewhere = told.rows.filter((row) => !this.map.zones.has(row.group[zone]));
    const named = elsewhere.map((row) => `${zoneName(row, zone)} ${figure(measure.unit, valueOf(row, measure))}`);
    byId("city-elsewhere").textContent = named.length ? `Not on the map: ${named.join(" · ")}` : "";
    this.say(null);
    this.agreeWithCard();
    showHighest(this.choice, told, (row) => this.choice.set({ zone: row.group[zone] }), this.still());
    if (this.routes) showRoutes(this.routes, this.choice, told, this.still());
    this.showZone();
  }

  showZone() {
    const { zone } = this.choice;
    this.map.mark(zone);
    if (zone === null) byId("city-zone").hidden = true;
    if (this.shown === null || zone === null) return;
    showZone(this.choice, this.shown, this.map.nameOf(zone), () => this.refuse("zone"), this.still());
  }

  // Whether what is chosen and shown is still what it is now: an answer that comes too late is dropped.
  still() {
    const { shown, choice } = this;
    const chosen = () => [choice.view.name, choice.measure.name, choice.length, choice.end, choice.zone];
    const now = () => JSON.stringify([...chosen(), this.turn]);
    const before = now();
    return () => shown === this.shown && before === now();
  }

  // The cards are drawn seconds apart, the city moves on meanwhile: both tell the same time.
  agreeWithCard() {
    if (this.live === null || byId("city").classList.contains("stale")) return;
    const told = byId("cards").querySelector(`[data-views~="${this.live.view}"]`);
    if (told) told.textContent = second(this.live.as_of);
  }

  // How current the figures are; with `why` what is amiss, which is said until it is over.
  say(why) {
    const until = this.shown === null ? "" : ` What is shown is of ${minute(this.shown.window.end)} UTC.`;
    const told = why === null ? standing(this.choice, this.shown) : `${why}${until}`;
    const wasStale = byId("city").classList.contains("stale");
    byId("city").classList.toggle("stale", why !== null);
    if (why !== null || wasStale) refresh(); // at each word of trouble: a worker that stops answers some requests yet
    if (byId("city-status").textContent !== told) byId("city-status").textContent = told;
  }
}

const isZone = ({ column }) => ZONES.includes(column);

function standing({ end }, { window, meta }) {
  const isComplete = Date.parse(window.end) <= Date.parse(meta.as_of);
  const behind = Object.values(meta.lag_records).reduce((sum, records) => sum + (records ?? 0), 0);
  const told = [
    end === null ? "Live" : `A window ${isComplete ? "of the past" : "that is not complete yet"}`,
    meta.as_of !== null && (end === null || !isComplete) ? `complete up to ${minute(meta.as_of)} UTC` : null,
    behind ? `${behind.toLocaleString("en-US")} records behind` : null,
    meta.partial ? "some partitions are missing" : null,
    heldBack(meta),
  ];
  return told.filter(Boolean).join(" · ");
}

function heldBack({ held_back_by: by }) {
  const more = by.length > 3 ? ` and ${by.length - 3} more` : "";
  return by.length ? `held back by ${by.slice(0, 3).join(", ")}${more}` : null;
}

// Cards and tables are drawn by the worker: fetched anew, unless somebody is reading in them with the keyboard. Where
// there is no answer they stay, dimmed; the city's status says why. What was asked for last counts.
async function refresh() {
  if (document.hidden) return;
  const asked = (refreshes += 1);
  const page = await firstPage();
  if (asked !== refreshes || document.hidden) return;
  dim(page === null);
  if (page === null) return;
  const unread = DRAWN.filter((id) => !byId(id).contains(document.activeElement));
  for (const id of unread) byId(id).replaceWith(page.getElementById(id));
  city?.agreeWithCard();
}

function dim(isStale) {
  for (const id of DRAWN) byId(id).classList.toggle("stale", isStale);
}

// Of a page that nobody sees: a browser has six connections to a worker, and each stream holds one.
function rest() {
  city?.stop();
  dim(true);
  city?.say(HIDDEN); // in the moment in which it is seen again it is of long ago
}

function goOn() {
  refresh();
  city?.askAnew();
}

async function firstPage() {
  try {
    const answer = await fetchInTime("/");
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  } catch {
    return null;
  }
}

const views = (await ask("/v1/views")).data.filter((view) => view.window.kind === "tumbling" && amountsOf(view).length);
const zones = await ask("/v1/zones");
const ofZones = (count) => views.filter(({ groups }) => groups.length === count && groups.every(isZone));
byId("evidence-close").addEventListener("click", () => byId("evidence").close());
document.addEventListener("click", openEvidence);
setInterval(refresh, REFRESH_MS);
if (ofZones(1).length) {
  byId("city").hidden = false;
  city = new City(ofZones(1), ofZones(2)[0], zones);
  window.addEventListener("hashchange", () => city.begin());
}
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : goOn()));
watch({
  lost(why) {
    dim(true);
    city?.say(why);
  },
  found: goOn,
});
