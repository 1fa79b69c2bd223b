// The verdict on a figure: its records are looked for page by page, until it is known whether they give it; then, where
// that is wished, on to where no more can be.

import { Refused, ask } from "/static/answers.js";
import { span } from "/static/figures.js";
import { byId } from "/static/panels.js";
import { SHOWN, showRecords } from "/static/records.js";

const PAGE_MS = 30e3; // a page reads for five seconds, behind those that others ask for

const number = (value) => value.toLocaleString("en-US");

// Opens where a link to evidence is followed, but into a tab of its own.
export function openEvidence(event) {
  const link = event.target.closest('a[href*="/evidence?"]');
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (link === null || elsewhere || byId("evidence").contains(link)) return;
  event.preventDefault();
  byId("evidence-title").textContent = "Its records";
  byId("evidence-raw").textContent = "its records as JSON";
  byId("evidence-found").hidden = true;
  byId("evidence").showModal();
  look(link.getAttribute("href"));
}

let looks = 0; // the dialog tells of the last one

async function look(href) {
  const mine = (looks += 1);
  const isCurrent = () => mine === looks && byId("evidence").open;
  const address = new URL(href, location);
  const asked = Object.fromEntries(address.searchParams);
  const first = [];
  byId("evidence-raw").setAttribute("href", href);
  byId("evidence-more").hidden = true;
  say("Reading the topics again.");
  try {
    for (let cursor = {}; isCurrent(); ) {
      const { data, meta } = await ask(address.pathname, { ...asked, ...cursor }, PAGE_MS);
      if (!isCurrent()) return;
      tell(meta, Number(asked.limit));
      first.push(...data.slice(0, SHOWN - first.length));
      showRecords(first, meta.row.count);
      if (meta.next_cursor === null) {
        offerMore(meta, `${href}&to_the_end=true`);
        return;
      }
      cursor = { cursor: meta.next_cursor };
    }
  } catch (error) {
    if (isCurrent()) say(error instanceof Refused ? error.message : "The worker cannot be reached.");
  }
}

// A look ends with as many records as the row has, which may not be all that belong to it.
function offerMore({ agrees, searched_to_the_end: isWhole }, href) {
  byId("evidence-more").hidden = !agrees || isWhole;
  byId("evidence-look").onclick = () => look(href);
}

function tell({ row, found, agrees, lacks, searched_to_the_end: isWhole, next_cursor: next }, limit) {
  byId("evidence-title").textContent = nameOf(row);
  if (row.count > limit) byId("evidence-raw").textContent = `the first ${number(limit)} of its records as JSON`;
  const ofRow = found.count > row.count ? "records, more than the row has," : `of ${number(row.count)} records`;
  const of = `${number(found.count)} ${ofRow}`;
  const agreed = `They agree: all ${number(found.count)} were found, and give this row, cell by cell.`;
  if (next !== null) say(`Reading the topics again: ${of} found so far.`);
  else if (agrees) say(isWhole ? `${agreed} Nothing else belongs to it.` : agreed, true);
  else if (lacks) say(`They do not agree: the row lacks ${lacking(lacks)}.`, false);
  else if (agrees === false) say(`They do not agree: ${of} were found, and they do not give this row.`, false);
  else say(`The topics cannot tell any more: ${of} were found.`);
}

// "5 records that belong to it"
function lacking({ count, record }) {
  const place = record === null ? "" : `: ${record.topic}, partition ${record.partition}, offset ${record.offset}`;
  return `${number(count)} record${count === 1 ? " that belongs" : "s that belong"} to it${place}`;
}

function say(text, agrees = null) {
  byId("evidence-verdict").textContent = text;
  byId("evidence-verdict").dataset.agrees = agrees;
}

// "JFK Airport, 2024-01-31 08:00 – 09:00 UTC"
function nameOf({ group, window }) {
  const beside = Object.keys(group).flatMap((name) => [`${name}_name`, `${name}_borough`]);
  const names = Object.keys(group).filter((name) => !beside.includes(name));
  const ofGroup = (name) => (group[name] === null ? `no ${name}` : `${name} ${group[name]}`);
  const told = names.map((name) => group[`${name}_name`] ?? ofGroup(name));
  return [...told, ...(window ? [`${span(window)} UTC`] : [])].join(", ");
}
