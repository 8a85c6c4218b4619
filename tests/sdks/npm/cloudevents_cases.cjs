// Post events with the CloudEvents SDK for JavaScript. `node cloudevents_cases.cjs URL` prints one JSON line for each
// case: its name, the attributes added to the required ones, the status of the answer, the answer, and the stored event.

const { CloudEvent, HTTP, emitterFor } = require("cloudevents");

const url = process.argv[2];
const schema = "https://example.com/decision.json";
const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const cases = {
  "structured": {},
  "binary": {},
  "structured, dataschema": { dataschema: schema },
  "binary, dataschema": { dataschema: schema },
  "structured, traceparent and tracestate": { traceparent: trace, tracestate: "vendor=1" },
  "binary, partitionkey and sequence": { partitionkey: "team-e", sequence: "0007" },
  "structured, a number and a boolean": { sampledrate: 30, urgent: true },
  "structured, application/json; charset=utf-8": { datacontenttype: "application/json; charset=utf-8" },
  "binary, application/json; charset=utf-8": { datacontenttype: "application/json; charset=utf-8" },
  "binary, application/vnd.decision+json": { datacontenttype: "application/vnd.decision+json" },
  "structured, data_base64": { datacontenttype: "application/json" },
  "binary, text/plain": { datacontenttype: "text/plain" },
};

function eventOf(name, added) {
  let data = { decision: name, confidence: 0.8 };
  if (name.includes("data_base64")) data = Uint8Array.from(Buffer.from(JSON.stringify(data)));
  if (name.includes("text/plain")) data = name;
  return new CloudEvent({ id: `JavaScript ${name}`, source: "/agents/scout", type: "decision.recorded.v1", data, ...added });
}

const write = (name, event) => (name.startsWith("binary") ? HTTP.binary(event) : HTTP.structured(event));

const send = ({ headers, body }) => fetch(`${url}/events`, { method: "POST", headers, body });

async function report(name, response, added = {}) {
  const answer = await response.json();
  const position = answer.position ?? answer.first;
  const stored = position ? await (await fetch(`${url}/events/${position}`)).json() : null;
  console.log(JSON.stringify({ case: `JavaScript: ${name}`, added, status: response.status, answer, stored }));
}

async function readAndPostAgain(mode) {
  const name = `${mode}, an event that was read`;
  const { position } = await (await send(write(mode, eventOf(name, {})))).json();
  const read = await fetch(`${url}/events/${position}`);
  const event = HTTP.toEvent({ headers: { "content-type": read.headers.get("content-type") }, body: await read.text() });
  await report(name, await send(write(mode, event)));
}

async function main() {
  for (const [name, added] of Object.entries(cases)) {
    await report(name, await send(write(name, eventOf(name, added))), added);
  }
  const batch = [eventOf("batch", {}), eventOf("batch, second", {})];
  const headers = { "content-type": "application/cloudevents-batch+json" };
  await report("batch", await send({ headers, body: JSON.stringify(batch) }));
  await readAndPostAgain("structured");
  await readAndPostAgain("binary");
  const emit = emitterFor((message) => send(message));
  await report("emitterFor", await emit(eventOf("emitterFor", {})));
}

main();
