import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import { engineFor, type Scenario } from "./scenario.ts";

const SPANS = 1_000_000;
const QUICK_SPANS = 20_000;
const SPANS_PER_TRACE = 5;
/** Spans per import. One import for all spans would exceed the timeout of the call. */
const SPANS_PER_IMPORT = 50_000;
const LINES_PER_ITEM = 100;
const IMPORT_TIMEOUT_MS = 300_000;
/** Runs of each query per round. The median counts. */
const ASKED = 5;
const LIMIT_MS = 200;
const DISK_BYTES = 8 * 1024 ** 3;
/** 14 November 2023. */
const START_MS = 1_700_000_000_000;

/** Typical first queries. Customer 77 has one trace in a thousand, `c99` is part of eleven customers' names. */
const QUERIES: Readonly<Record<string, object>> = {
  newest: {},
  "status=error": { status: "error" },
  "service and text": { service_name: "math", text: "order reseller" },
  "an attribute equals": { attributes: [["customer", "c77"]] },
  "duration > 1.5 s": { min_duration_ms: 1_500 },
  "an attribute contains": { filters: [{ key: "customer", op: "contains", value: "c99" }] },
};

/** Measures calls for the first page of a list of traces, with very many spans on the disk. */
export const storedSpans: Scenario = {
  title: "Very many spans on the disk: ingest, first pages of 100 traces",
  rows: [24],
  async run(context) {
    const spans = context.options.quick ? QUICK_SPANS : SPANS;
    const engine = await engineFor(context, "spans", [
      { name: "svc-observability", config: { trace_storage: { max_disk_bytes: DISK_BYTES } } },
    ]);
    const worker = connect(`ws://127.0.0.1:${engine.port}`, {
      name: "asker",
      logger: silentLogger,
      handleSignals: false,
    });
    try {
      const startedAt = performance.now();
      for (let first = 0; first < spans; first += SPANS_PER_IMPORT)
        await importSpans(worker, first, Math.min(spans, first + SPANS_PER_IMPORT));
      const perSecond = spans / ((performance.now() - startedAt) / 1_000);
      const notes = [`${spans} spans were taken in at ${formatNumber(perSecond)} a second`];
      const times = new Map<string, number[]>(Object.keys(QUERIES).map((name) => [name, []]));
      for (let round = 0; round < context.options.rounds; round++) {
        for (const [name, filters] of Object.entries(QUERIES)) {
          const { medianMs, rows, total } = await ask(worker, filters);
          times.get(name)?.push(medianMs);
          if (round === 0) notes.push(`${name}: ${rows} traces on the first page of ${total}`);
        }
      }
      const quoted = { row: 24, unit: "ms", sense: "at most", standing: "quoted", limit: LIMIT_MS } as const;
      const bars = [...times].map(([name, ms]) => ({
        ...quoted,
        what: `p50 of the first page of ${spans} spans: ${name}`,
        measured: spread(ms),
      }));
      return { measurements: [], notes, bars };
    } finally {
      await worker.shutdown();
      await engine.stop();
    }
  },
};

async function ask(
  worker: Worker,
  filters: object,
): Promise<{ readonly medianMs: number; readonly rows: number; readonly total: number }> {
  const times: number[] = [];
  let page = { spans: [] as readonly unknown[], total: 0 };
  for (let count = 0; count < ASKED; count++) {
    const startedAt = performance.now();
    page = await worker.call({ function_id: "engine::traces::list", payload: { ...filters, limit: 100 } });
    times.push(performance.now() - startedAt);
  }
  return { medianMs: spread(times).median, rows: page.spans.length, total: page.total };
}

async function importSpans(worker: Worker, first: number, end: number): Promise<void> {
  const { reader, writer } = await worker.createChannel();
  const importing = worker.call({
    function_id: "engine::traces::import",
    payload: { lines: reader },
    timeoutMs: IMPORT_TIMEOUT_MS,
  });
  const writing = (async () => {
    for (let from = first; from < end; from += LINES_PER_ITEM) {
      let text = "";
      for (let index = from; index < Math.min(end, from + LINES_PER_ITEM); index++)
        text += `${JSON.stringify(spanOf(index))}\n`;
      await writer.send(text);
    }
    await writer.end();
  })();
  const [counts] = await Promise.all([importing, writing]);
  const { imported } = counts as { readonly imported: number };
  if (imported !== end - first) throw new Error(`${imported} of ${end - first} spans were taken in`);
}

const NAMES = ["POST /math/add-two-numbers", "http::add_two_numbers", "math::add", "state::get", "state::set"];
const SERVICES = ["svc", "caller-worker", "math-worker", "svc", "svc"];

/** Spans as exported by the engine: requests of five spans, one in a hundred with an error, few of them slow. */
function spanOf(index: number): object {
  const trace = Math.floor(index / SPANS_PER_TRACE);
  const place = index % SPANS_PER_TRACE;
  const startNanos = BigInt(START_MS + trace * 5) * 1_000_000n + BigInt(place * 10_000);
  // Distributed without randomness, so that every run has the same spans.
  const share = ((trace * 7_919) % 10_007) / 10_007;
  const tookNanos = place === 0 ? BigInt(Math.floor(share ** 8 * 3_000_000_000) + 100_000) : 100_000n;
  const customer = `c${trace % 1_000}`;
  const isError = trace % 100 === 0 && place === 2;
  const time = startNanos.toString();
  const input = JSON.stringify({
    a: index,
    b: 2,
    customer,
    note: `order number ${trace} of reseller ${trace % 5_000}`,
  });
  return {
    trace_id: (trace + 1).toString(16).padStart(32, "0"),
    span_id: (index + 1).toString(16).padStart(16, "0"),
    parent_span_id: place === 0 ? null : index.toString(16).padStart(16, "0"),
    name: NAMES[place],
    kind: "server",
    start_time_unix_nano_text: time,
    end_time_unix_nano_text: (startNanos + tookNanos).toString(),
    status: isError ? "error" : "ok",
    ...(isError ? { status_description: "the disk is full" } : {}),
    service_name: SERVICES[place],
    worker_id: `w-${place}`,
    attributes_map: {
      "svc.function_id": NAMES[place],
      "svc.worker.name": SERVICES[place],
      "svc.worker.id": `w-${place}`,
      customer,
      order: trace,
    },
    events: [
      {
        name: "svc.input",
        timestamp_unix_nano_text: time,
        attributes_map: { "svc.payload.json": input, "svc.payload.bytes": input.length },
      },
      {
        name: "svc.output",
        timestamp_unix_nano_text: time,
        attributes_map: { "svc.payload.json": `{"sum":${index}}` },
      },
    ],
  };
}
