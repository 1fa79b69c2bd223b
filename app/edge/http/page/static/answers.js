// What a worker answers: once, or as it changes.

const SILENT_MS = 40000; // a stream says something every 15 s unless it is told otherwise
export const AGAIN_MS = 3000;

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

export async function ask(address, parameters = {}) {
  const answer = await fetch(withParameters(address, parameters), { headers: { Accept: "application/json" } });
  const told = await answer.json();
  if (!answer.ok) throw new Refused(told);
  return told;
}

export function withParameters(address, parameters) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) given.append(name, one === null ? "null" : one);
  }
  return given.size ? `${address}?${given}` : address;
}

// Follows the rows of an address, until `stop`. `show({rows, meta})` gets all of them at each event; `trouble(text)`
// says why what was shown last may not be of this moment.
export class Follower {
  constructor(address, parameters, { show, trouble }) {
    this.address = withParameters(address, parameters);
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
    this.silence = setTimeout(() => this.trouble("The worker has not been heard of for a while."), SILENT_MS);
  }

  stop() {
    clearTimeout(this.silence);
    clearTimeout(this.again);
    this.source.close();
  }
}

// Why there is no stream, which an EventSource does not tell.
async function whyNot(address) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) return (await answer.json()).detail;
    answer.body.cancel();
    return "The stream broke off; taken up again.";
  } catch {
    return "The worker cannot be reached; asking again.";
  }
}

function keyOf(row) {
  return JSON.stringify([row.window ?? null, Object.values(row.group)]);
}
