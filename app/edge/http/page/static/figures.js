// Figures as the page writes them, by the unit that the view says they are in: as app/edge/http/page/figures.py does.

export const ABSENT = "–";
const ENDINGS = { instant: "_us", microseconds: "_us", cents: "_cents", "hundredth-miles": "_hundredth_miles" };
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven" });
const hundredths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export function heading(unit, name) {
  const ending = ENDINGS[unit];
  const bare = ending && name.endsWith(ending) ? name.slice(0, -ending.length) : name;
  return `${bare.replaceAll("_", " ")}${unit === "instant" ? ", UTC" : ""}`;
}

export function figure(unit, value) {
  if (typeof value !== "number") return ABSENT;
  if (unit === "instant") return second(Math.floor(value / 1e6) * 1e3);
  if (unit === "microseconds") return duration(value);
  if (unit === "cents") return `${value < 0 ? "−" : ""}$${hundredths.format(Math.abs(value) / 100)}`;
  if (unit === "hundredth-miles") return `${value < 0 ? "−" : ""}${tenths.format(Math.abs(value) / 100)} mi`;
  return Number.isInteger(value) ? whole.format(value) : hundredths.format(value);
}

function duration(length_us) {
  const sign = length_us < 0 ? "−" : "";
  const seconds = Math.floor(Math.abs(length_us) / 1e6);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(seconds / 3600);
  const two = (number) => String(number).padStart(2, "0");
  if (hours) return `${sign}${whole.format(hours)} h ${two(minutes % 60)} min`;
  return minutes ? `${sign}${minutes} min ${two(seconds % 60)} s` : `${sign}${seconds} s`;
}

// "2024-01-31 08:05", UTC, of an instant as answers tell it, or in milliseconds.
export function minute(instant) {
  return new Date(instant).toISOString().slice(0, 16).replace("T", " ");
}

// "2024-01-31 08:05:10", as the worker writes a watermark.
export function second(instant) {
  return new Date(instant).toISOString().slice(0, 19).replace("T", " ");
}

// "2024-01-31 08:00 – 09:00" where both ends are of one day.
export function span(window) {
  const from = minute(window.start);
  const to = minute(window.end);
  return `${from} – ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
}

const LENGTHS = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

// Milliseconds of "5m", "1h30m".
export function milliseconds(length) {
  return [...length.matchAll(/(\d+)([smhd])/g)].reduce((sum, [, number, unit]) => sum + number * LENGTHS[unit], 0);
}

// "7d" of milliseconds: the shortest that `milliseconds` reads back.
export function lengthOf(length_ms) {
  const unit = Object.keys(LENGTHS).findLast((one) => length_ms % LENGTHS[one] === 0);
  return `${length_ms / LENGTHS[unit]}${unit}`;
}

// As answers write an instant, of milliseconds.
export function instant(at_ms) {
  return `${new Date(at_ms).toISOString().slice(0, 19)}Z`;
}
