// The zones as a drawing: coloured by a figure, walked over with the arrow keys, one of them chosen.

import { figure } from "/static/figures.js";

const SVG = "http://www.w3.org/2000/svg";
const LEVELS = 6;
const SIDEWAYS = 2; // how much farther than ahead a zone may lie beside the way

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export class CityMap {
  constructor(drawing, legend, { data, meta }, choose) {
    this.drawing = drawing;
    this.legend = legend;
    this.choose = choose;
    this.zones = new Map(data.map((zone) => [zone.zone, zone]));
    drawing.setAttribute("viewBox", `-4 -4 ${meta.box.width + 8} ${meta.box.height + 8}`);
    this.paths = new Map(data.map((zone) => [zone.zone, this.draw(zone)]));
    drawing.append(...this.paths.values());
    this.focusable(data[0].zone);
    drawing.addEventListener("keydown", (event) => this.walk(event));
  }

  draw(zone) {
    const path = svg("path", { d: zone.path, role: "button", tabindex: -1 }, svg("title"));
    path.dataset.zone = zone.zone;
    path.addEventListener("click", () => this.choose(zone.zone));
    path.addEventListener("focus", () => this.focusable(zone.zone));
    return path;
  }

  // `values`: number by zone; zones without one are left empty.
  paint({ unit }, values) {
    const levels = levelsOf([...values.values()].filter((value) => value !== null));
    for (const [zone, path] of this.paths) {
      const value = values.get(zone) ?? null;
      path.dataset.level = value === null ? "none" : levels.find(({ from }) => value >= from)?.level ?? 1;
      const told = `${this.nameOf(zone)}: ${figure(unit, value)}`;
      path.firstChild.textContent = told;
      path.setAttribute("aria-label", told);
    }
    this.legend.replaceChildren(...levels.map(({ level, from }) => entry(level, `from ${figure(unit, from)}`)));
  }

  mark(chosen) {
    for (const [zone, path] of this.paths) path.setAttribute("aria-pressed", zone === chosen);
    const path = this.paths.get(chosen);
    if (!path) return;
    const hadFocus = document.activeElement === path;
    this.drawing.append(path); // drawn last, so that its edge is not under its neighbours
    this.focusable(chosen);
    if (hadFocus) path.focus();
  }

  nameOf(zone) {
    const { zone_name: name, zone_borough: borough } = this.zones.get(zone) ?? {};
    return name ? `${name}, ${borough}` : `zone ${zone}`;
  }

  focusable(zone) {
    this.at = zone;
    for (const [other, path] of this.paths) path.setAttribute("tabindex", other === zone ? 0 : -1);
  }

  walk(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(this.at);
      return;
    }
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in ways)) return;
    event.preventDefault();
    const next = this.nearest(ways[event.key]);
    if (next !== undefined) this.paths.get(next).focus();
  }

  nearest([right, down]) {
    const [x, y] = this.middle(this.at);
    let [best, least] = [undefined, Infinity];
    for (const zone of this.paths.keys()) {
      const [dx, dy] = this.middle(zone).map((value, axis) => value - [x, y][axis]);
      const ahead = dx * right + dy * down;
      const far = ahead + SIDEWAYS * Math.abs(dx * down + dy * right);
      if (ahead > 1 && far < least) [best, least] = [zone, far];
    }
    return best;
  }

  middle(zone) {
    const box = this.paths.get(zone).getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }
}

function entry(level, text) {
  const made = document.createElement("span");
  made.dataset.level = level;
  made.append(text);
  return made;
}

// The colours from the strongest down and the figures from which on they are used, each about half of the one above.
function levelsOf(values) {
  const top = ceiling(Math.max(0, ...values));
  const isWhole = values.every(Number.isInteger);
  const levels = Array.from({ length: top ? LEVELS : 0 }, (_, below) => {
    const half = Number((top / 2 ** (below + 1)).toPrecision(2));
    return { level: LEVELS - below, from: below === LEVELS - 1 ? 0 : isWhole ? Math.ceil(half) : half };
  });
  return levels.filter(({ from }, at) => at === 0 || from < levels[at - 1].from);
}

// Steady while the highest figure moves a little.
function ceiling(highest) {
  if (highest <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= highest);
}
