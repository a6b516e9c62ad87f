import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { freePort, freePorts } from "@svc-runtime/protocol/testing";
import { connect, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine, svc } from "./support/cli.ts";
import { eventually, processesIn } from "./support/processes.ts";
import { logsOf, outlineOf, spansOf, type Tree, type TreeSpan, treeOf, until } from "./support/traces.ts";
import { edit, uncomment } from "./support/uncomment.ts";

// The quickstart's project at its end, with a log line in each of its functions. Its Python worker uses the
// repository's environment.
const repository = fileURLToPath(new URL("../..", import.meta.url));
const parent = mkdtempSync(join(tmpdir(), "svc-trace-"));
const project = join(parent, "quickstart");
let ports: Ports;
let otlpPort: number;
let engine: EngineProcess;
let worker: Worker;

const ask = async <Answer>(functionId: string, payload: unknown): Promise<Answer> =>
  (await worker.call({ function_id: functionId, payload })) as Answer;

const SERVED = ["http::add_two_numbers", "math::add_two_numbers", "math::add", "state::set"];

async function up(): Promise<void> {
  engine = await startEngine({ cwd: project, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "trace-test", handleSignals: false });
  await until(
    "both workers are there",
    120_000,
    () =>
      ask<{
        triggers: readonly { trigger_type: string; status: string }[];
        functions: readonly { function_id: string }[];
      }>("engine::functions::list", {}),
    ({ functions }) => SERVED.every((id) => functions.some(({ function_id }) => function_id === id)),
  );
  await until(
    "the route answers",
    30_000,
    () => add().then(({ status }) => status),
    (status) => status === 200,
  );
}

function add(headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`http://localhost:${ports.http}/math/add-two-numbers`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ a: 2, b: 3 }),
  });
}

/** Trace ids of the requests so far, latest first. */
async function requests(): Promise<readonly string[]> {
  const page = await ask<{ spans: readonly TreeSpan[] }>("engine::traces::list", {
    function_id: "http::add_two_numbers",
  });
  return page.spans.map(({ trace_id }) => trace_id);
}

/** A store in `engine::telemetry::status`. */
interface Stored {
  readonly disk_bytes: number;
  readonly unwritten: number;
}

const REQUEST = "POST /math/add-two-numbers (svc)";
const BELOW_REQUEST = [
  [
    "http::add_two_numbers (caller-worker)",
    [
      [
        "math::add_two_numbers (caller-worker)",
        [
          [
            "math::add (math-worker)",
            [
              ["state::get_entry (svc)", []],
              ["state::set (svc)", []],
            ],
          ],
        ],
      ],
    ],
  ],
];

beforeAll(async () => {
  ports = await freePorts();
  otlpPort = await freePort();
  const created = await svc(["create", "--template", "quickstart", "--directory", project], { cwd: parent });
  expect(created).toMatchObject({ code: 0 });
  const math = join(project, "workers/math-worker/math_worker.py");
  const caller = join(project, "workers/caller-worker/src/worker.ts");
  uncomment(math, "#", "STATE:", "END OF STATE");
  uncomment(caller, "//", "HTTP:", "END OF HTTP");
  edit(math, "def add(payload):\n", 'def add(payload, context):\n    context.log.info("adding", a=payload["a"])\n');
  edit(
    caller,
    "async (payload: Numbers) => worker.call",
    'async (payload: Numbers, context) => (context.log.info("asking math"), worker.call',
  );
  edit(caller, '<Sum>({ function_id: "math::add", payload }),', '<Sum>({ function_id: "math::add", payload })),');
  edit(
    caller,
    "async (request: { body: Numbers }) => {\n",
    'async (request: { body: Numbers }, context) => {\n    context.log.info("requested");\n',
  );
  edit(
    join(project, "workers/math-worker/svc.worker.yaml"),
    "kind: python\n  package_manager: pip\n  entry: math_worker.py",
    "kind: other",
  );
  edit(
    join(project, "workers/math-worker/svc.worker.yaml"),
    "pip install -r requirements.txt",
    "echo nothing to install",
  );
  edit(
    join(project, "workers/math-worker/svc.worker.yaml"),
    "start: python",
    `start: exec ${join(repository, ".venv/bin/python")}`,
  );
  writeFileSync(
    join(project, "config.yaml"),
    `workers:
  - name: svc-observability
    config:
      trace_storage: {}
      otlp_receiver: { port: ${otlpPort} }
  - name: svc-state
  - name: svc-http
  - { name: math-worker, path: ./workers/math-worker, env: { PYTHONPATH: ${join(repository, "python/src")} } }
  - { name: caller-worker, path: ./workers/caller-worker }
`,
  );
  await up();
});

afterAll(async () => {
  await worker?.shutdown({ timeoutMs: 1_000 });
  engine?.child.kill("SIGKILL");
  await eventually("the project's processes are gone", () => processesIn(project).length === 0);
  rmSync(parent, { recursive: true, force: true });
});

describe("one request over HTTP", () => {
  let traceId: string;

  it("is one trace, from the request through both workers to the state, with every span below the one that called it", async () => {
    const before = await requests();
    const answer = await add();
    expect(await answer.json()).toMatchObject({ c: 5 });
    const fresh = (ids: readonly string[]): readonly string[] => ids.filter((id) => !before.includes(id));
    const found = await until(
      "the request's trace is there",
      15_000,
      async () => fresh(await requests()),
      (ids) => ids.length > 0,
    );
    expect(found).toHaveLength(1);
    traceId = found[0] as string;
    const tree = await treeOf(ask, traceId, 6);
    expect(outlineOf(tree.roots)).toEqual([[REQUEST, BELOW_REQUEST]]);
    expect(tree).toMatchObject({ span_count: 6, partial: false, orphans: [] });
    const spans = spansOf(tree.roots);
    for (const span of spans) {
      expect(span).toMatchObject({ trace_id: traceId, status: expect.stringMatching(/^(ok|unset)$/) });
      // A span that waits for another is at least as long.
      for (const child of span.children)
        expect(child.duration_ms as number).toBeLessThanOrEqual(span.duration_ms as number);
      for (const child of span.children) expect(child.parent_span_id).toBe(span.span_id);
    }
    expect(spans[0]?.attributes_map).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/math/add-two-numbers",
      "http.response.status_code": 200,
    });
    const { spans: listed } = await ask<{ spans: readonly { trace: object }[] }>("engine::traces::list", {
      trace_id: traceId,
    });
    expect(listed.map(({ trace }) => trace)).toEqual([
      expect.objectContaining({
        status: "ok",
        span_count: 6,
        services: expect.arrayContaining(["svc", "caller-worker", "math-worker"]),
      }),
    ]);
  });

  it("has the log lines of both workers on the spans of the functions that wrote them", async () => {
    const logs = await logsOf(ask, traceId, 3);
    const nameOf = new Map(spansOf((await treeOf(ask, traceId, 6)).roots).map(({ span_id, name }) => [span_id, name]));
    const written = logs
      .filter(({ service_name }) => service_name !== "svc")
      .map((log) => [log.body, log.service_name, nameOf.get(log.span_id ?? "")]);
    expect(written).toHaveLength(3);
    expect(written).toEqual(
      expect.arrayContaining([
        ["requested", "caller-worker", "http::add_two_numbers"],
        ["asking math", "caller-worker", "math::add_two_numbers"],
        ["adding", "math-worker", "math::add"],
      ]),
    );
  });
});

describe("a trace that an external OpenTelemetry SDK started", () => {
  it("is the same tree, with the span that the SDK sends by OTLP above the request", async () => {
    const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${otlpPort}/v1/traces` });
    const provider = new NodeTracerProvider({
      resource: resourceFromAttributes({ "service.name": "shop" }),
      spanProcessors: [new BatchSpanProcessor(exporter)],
    });
    const span = provider.getTracer("shop").startSpan("checkout");
    const { traceId, spanId } = span.spanContext();
    const answer = await add({ traceparent: `00-${traceId}-${spanId}-01` });
    expect(answer.status).toBe(200);
    await answer.text();
    span.end();
    await provider.shutdown();
    const tree: Tree = await treeOf(ask, traceId, 7);
    expect(outlineOf(tree.roots)).toEqual([["checkout (shop)", [[REQUEST, BELOW_REQUEST]]]]);
    expect(tree).toMatchObject({ span_count: 7, partial: false });
    expect(tree.roots[0]?.span_id).toBe(spanId);
  });
});

describe("with trace_storage", () => {
  it("traces and logs are kept after kill -9 and a restart", async () => {
    const ids = (await requests()).slice(0, 2);
    expect(ids).toHaveLength(2);
    const kept = await Promise.all(ids.map((id) => treeOf(ask, id, 6)));
    const logs = await logsOf(ask, ids[1] as string, 3);
    await until(
      "everything is on the disk",
      15_000,
      () => ask<{ spans: Stored; logs: Stored }>("engine::telemetry::status", {}),
      ({ spans, logs: entries }) =>
        spans.disk_bytes > 0 && entries.disk_bytes > 0 && spans.unwritten === 0 && entries.unwritten === 0,
    );
    await worker.shutdown({ timeoutMs: 1_000 });
    engine.child.kill("SIGKILL");
    await engine.exited;
    await up();
    for (const [at, id] of ids.entries()) {
      const tree = await treeOf(ask, id, 6);
      expect(outlineOf(tree.roots)).toEqual(outlineOf(kept[at]?.roots ?? []));
    }
    const after = await logsOf(ask, ids[1] as string, 3);
    expect(after.map(({ body, span_id }) => [body, span_id]).sort()).toEqual(
      logs.map(({ body, span_id }) => [body, span_id]).sort(),
    );
  });
});
