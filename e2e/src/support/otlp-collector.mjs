// A collector as a separate process: accepts OTLP/JSON over HTTP and prints each request as a line of JSON. Argument:
// the port.
import { createServer } from "node:http";

const records = (groups, scopes, items) =>
  (groups ?? []).flatMap((group) => (group[scopes] ?? []).flatMap((scope) => scope[items] ?? []));

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(parts).toString());
    const spans = records(body.resourceSpans, "scopeSpans", "spans").map(({ spanId, name }) => [spanId, name]);
    const logs = records(body.resourceLogs, "scopeLogs", "logRecords").map(({ body: text }) => text?.stringValue);
    const metrics = records(body.resourceMetrics, "scopeMetrics", "metrics").map(({ name }) => name);
    // Printed before the response, so everything that the sender sees as received has been counted.
    process.stdout.write(`${JSON.stringify({ spans, logs, metrics })}\n`, () =>
      response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    );
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => process.stdout.write('{"listening":true}\n'));
