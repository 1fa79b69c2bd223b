// What a worker answers: once, or as it changes; and whether it answers at all, while somebody looks at the page.

export const AGAIN_MS = 3000;
const ANSWER_MS = 10e3; // a worker refuses itself what takes it longer
const ALIVE_MS = 5000;
const HEARTBEATS = 2.5; // a stream that says nothing for so many has broken off
const UNREACHED = "The worker cannot be reached; asking again.";

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

// Fails where the worker has not answered in time, as one that stands still does not.
export function fetchInTime(address, within_ms = ANSWER_MS, options = {}) {
  return fetch(address, { ...options, signal: AbortSignal.timeout(within_ms) });
}

export async function ask(address, parameters = {}, within_ms = ANSWER_MS) {
  const asked = { headers: { Accept: "application/json" } };
  const answer = await fetchInTime(withParameters(address, parameters), within_ms, asked);
  const told = await answer.json();
  if (!answer.ok) throw new Refused(told);
  return told;
}

export function withParameters(address, parameters) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) given.append(name, one);
  }
  return given.size ? `${address}?${given}` : address;
}

// A group's value as questions name it: in quotes what would be taken for null, or for quoted.
export function groupText(value) {
  return typeof value === "string" && (value === "null" || value.startsWith('"')) ? JSON.stringify(value) : String(value);
}

// Follows the rows of an address, until `stop`. `show({rows, window, meta})` gets all of them at each event, by their
// group; `trouble(text)` says why what was shown last may not be of this moment. `heartbeat_seconds`: after so long
// without a change the stream says that there was none.
export class Follower {
  constructor(address, parameters, heartbeat_seconds, { show, trouble }) {
    this.address = withParameters(address, parameters);
    this.silent_ms = HEARTBEATS * heartbeat_seconds * 1e3;
    this.show = show;
    this.trouble = trouble;
    this.rows = new Map();
    this.open();
  }

  open() {
    this.source = new EventSource(this.address);
    this.on("snapshot", (told) => {
      this.rows = new Map(told.rows.map((row) => [keyOf(row), row]));
      this.tell(told);
    });
    this.on("changes", (told) => {
      for (const gone of told.gone) this.rows.delete(keyOf(gone));
      for (const row of told.changed) this.rows.set(keyOf(row), row);
      this.tell(told);
    });
    this.on("same", (told) => this.tell(told));
    this.on("gap", () => {});
    this.on("problem", (told) => this.trouble(told.detail));
    this.source.onerror = async () => {
      if (this.source.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.open(), AGAIN_MS);
      const heard = this.silence;
      const why = await whyNot(this.address);
      if (heard === this.silence) this.trouble(why); // not if the stream is taken up again already
    };
    this.listen();
  }

  on(event, take) {
    this.source.addEventListener(event, (message) => {
      this.listen();
      take(JSON.parse(message.data));
    });
  }

  tell({ meta }) {
    this.show({ rows: [...this.rows.values()], meta });
  }

  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.trouble("The worker has not been heard of for a while; asking again.");
      this.source.close();
      this.open();
    }, this.silent_ms);
  }

  stop() {
    clearTimeout(this.silence);
    this.silence = null;
    clearTimeout(this.again);
    this.source.close();
  }
}

// Why there is no stream, which an EventSource does not tell.
async function whyNot(address) {
  try {
    const answer = await fetchInTime(address);
    if (!answer.ok) return (await answer.json()).detail;
    answer.body.cancel();
    return "The stream broke off; taken up again.";
  } catch {
    return UNREACHED;
  }
}

// Asks again and again whether the worker answers: a stream does not end when its worker stands still. `lost(why)` is
// called each time that it does not, `found()` once it does again. A page that is hidden asks nothing, and is told
// nothing.
export async function watch({ lost, found }) {
  for (let was = null; ; ) {
    await shown();
    const why = await whySilent();
    if (document.hidden) continue;
    if (why !== null) lost(why);
    else if (was !== null) found();
    was = why;
    await new Promise((later) => setTimeout(later, AGAIN_MS));
  }
}

async function shown() {
  while (document.hidden) {
    await new Promise((change) => document.addEventListener("visibilitychange", change, { once: true }));
  }
}

async function whySilent() {
  try {
    const answer = await fetchInTime("/livez", ALIVE_MS);
    await answer.text();
    return answer.headers.has("Flagfall-Worker") ? null : UNREACHED; // else a proxy speaks in its place
  } catch (error) {
    return error.name === "TimeoutError" ? "The worker does not answer; asking again." : UNREACHED;
  }
}

function keyOf(row) {
  return JSON.stringify([row.window ?? null, Object.values(row.group)]);
}
