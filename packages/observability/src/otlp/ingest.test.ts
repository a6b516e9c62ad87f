import { TRUSTED } from "@svc-runtime/engine/module";
import { restrictedPrincipal } from "@svc-runtime/engine/testing";
import { afterEach, expect, test } from "vitest";
import { encodeTraces } from "./encode.ts";
import { Ingest, type IngestOutcome } from "./ingest.ts";
import { CollectedTelemetry } from "./testing/collected-telemetry.ts";
import { someSpan } from "./testing/records.ts";
import { takeFrame } from "./worker-frames.ts";

const started: Ingest[] = [];
afterEach(() => {
  for (const ingest of started.splice(0)) ingest.stop(0);
});

function start(): { readonly ingest: Ingest; readonly telemetry: CollectedTelemetry } {
  const telemetry = new CollectedTelemetry();
  const ingest = new Ingest(telemetry);
  started.push(ingest);
  return { ingest, telemetry };
}

const NOBODY = { workerById: () => undefined, functionById: () => undefined };

function request(count: number, service = "a"): object {
  const resource = { service, workerId: undefined, attributes: {} };
  return encodeTraces(
    Array.from({ length: count }, (_, at) => someSpan({ spanId: (at + 1).toString(16).padStart(16, "0"), resource })),
  );
}

function offer(ingest: Ingest, source: string, body: unknown, bytes = 100): Promise<IngestOutcome> | undefined {
  let isTaken = false;
  const outcome = new Promise<IngestOutcome>((resolve) => {
    const origin = { worker: undefined, isFrame: true, mayBeWorker: () => false };
    isTaken = ingest.offer(source, { signal: "traces", bytes, origin, parse: () => body, onDone: resolve });
  });
  return isTaken ? outcome : undefined;
}

test("a frame of a worker's is read soon, and named as its worker's", async () => {
  const { ingest, telemetry } = start();
  takeFrame(ingest, NOBODY, "traces", Buffer.from(JSON.stringify(request(2))), {
    worker: { id: "w-1", name: "math" },
    address: undefined,
    principal: TRUSTED,
  });
  await offer(ingest, "other", request(1));
  expect(telemetry.ended.map(({ resource }) => resource.workerId)).toEqual(["w-1", "w-1", undefined]);
});

test("a worker's id from a socket without a worker counts only from that worker's machine", async () => {
  const { ingest, telemetry } = start();
  const body = Buffer.from(JSON.stringify(encodeTraces([someSpan()])));
  const directory = { ...NOBODY, workerById: () => ({ ip_address: "10.0.0.7:5000" }) as never };
  takeFrame(ingest, directory, "traces", body, { worker: undefined, address: "10.0.0.7:6000", principal: TRUSTED });
  takeFrame(ingest, directory, "traces", body, { worker: undefined, address: "10.0.0.8:6000", principal: TRUSTED });
  takeFrame(ingest, directory, "traces", body, {
    worker: undefined,
    address: "[::ffff:10.0.0.7]:6000",
    principal: TRUSTED,
  });
  await offer(ingest, "10.0.0.9", request(1));
  ingest.stop(1_000);
  expect(telemetry.ended.filter(({ resource }) => resource.workerId === "w-1")).toHaveLength(2);
});

test("sources take turns: one that sends much does not keep another waiting", async () => {
  const { ingest, telemetry } = start();
  const much = Array.from({ length: 50 }, () => offer(ingest, "loud", request(200, "loud")));
  await offer(ingest, "quiet", request(1, "quiet"));
  expect(telemetry.ended.filter(({ resource }) => resource.service === "loud").length).toBeLessThan(50 * 200);
  ingest.stop(10_000);
  await Promise.all(much);
  expect(telemetry.ended).toHaveLength(50 * 200 + 1);
});

test("reading leaves the loop to others, turn by turn", async () => {
  const { ingest } = start();
  let turns = 0;
  const watch = setInterval(() => {
    turns += 1;
  }, 1);
  await offer(ingest, "loud", request(20_000));
  clearInterval(watch);
  // The others had their turns in between, however slow the machine is.
  expect(turns).toBeGreaterThan(5);
});

test("what does not fit is refused and counted, and room comes back", async () => {
  const { ingest, telemetry } = start();
  const mebi = 1024 * 1024;
  const first = offer(ingest, "a", request(1), 15 * mebi);
  expect(offer(ingest, "a", request(1), 2 * mebi)).toBeUndefined();
  const second = offer(ingest, "b", request(1), 16 * mebi);
  expect(offer(ingest, "c", request(1), 2 * mebi)).toBeUndefined();
  expect(telemetry.counts.get("spans ingest_queue_full")).toBe(2);
  await Promise.all([first, second]);
  expect(ingest.counts.waitingBytes).toBe(0);
  expect(await offer(ingest, "a", request(1), 16 * mebi)).toEqual({ kind: "read", accepted: 1, refused: 0 });
});

test("a body that cannot be parsed spoils nothing else", async () => {
  const { ingest, telemetry } = start();
  for (const text of ["", "{", "null", "[]", '"x"', "\u0000", "1e999"]) {
    takeFrame(ingest, NOBODY, "traces", Buffer.from(text), { worker: undefined, address: "a:1", principal: TRUSTED });
  }
  expect(await offer(ingest, "a:1", request(1))).toMatchObject({ accepted: 1 });
  expect(telemetry.counts.get("spans malformed_body")).toBe(7);
});

const restricted = (id: string) => ({
  worker: { id: `w-${id}`, name: id },
  address: undefined,
  principal: restrictedPrincipal(id),
});
const bodyOf = (count: number): Buffer => Buffer.from(JSON.stringify(request(count)));

test("a restricted principal's records are limited over all its connections, so that they do not evict those of others", async () => {
  const { ingest, telemetry } = start();
  const readOf = (service: string): number =>
    telemetry.ended.filter((span) => span.resource.service === service).length;
  const flush = () => offer(ingest, "owner", request(1));
  for (const worker of ["one", "two"]) {
    const source = { ...restricted("acme"), worker: { id: worker, name: "shop" } };
    for (let n = 0; n < 3; n++) takeFrame(ingest, NOBODY, "traces", bodyOf(400), source);
  }
  while (ingest.counts.waitingBytes > 0) await flush();
  expect(readOf("shop (acme)")).toBe(1_000);
  expect(telemetry.counts.get("spans principal_rate")).toBeGreaterThan(0);
  for (const tenant of ["b", "c"]) takeFrame(ingest, NOBODY, "traces", bodyOf(900), restricted(tenant));
  while (ingest.counts.waitingBytes > 0) await flush();
  // All restricted principals together: 2,000.
  expect([readOf("b (b)"), readOf("c (c)")]).toEqual([900, 100]);
  telemetry.monotonicMs += 2_000;
  takeFrame(ingest, NOBODY, "traces", bodyOf(400), restricted("acme"));
  while (ingest.counts.waitingBytes > 0) await flush();
  expect(readOf("shop (acme)") + readOf("acme (acme)")).toBe(1_100);
  // Trusted senders have no such limit.
  const before = telemetry.ended.length;
  takeFrame(ingest, NOBODY, "traces", bodyOf(3_000), {
    worker: { id: "w", name: "owner" },
    address: undefined,
    principal: TRUSTED,
  });
  while (ingest.counts.waitingBytes > 0) await flush();
  expect(telemetry.ended.length).toBeGreaterThanOrEqual(before + 3_000);
});

test("a restricted sender names only functions that its principal provides", () => {
  const { ingest, telemetry } = start();
  const providers: Record<string, string> = { "api::x": "w-acme", "secret::pay": "w-bank", "other::y": "w-other" };
  const directory = {
    functionById: (id: string) => (id in providers ? { workers: [{ id: providers[id] }] } : undefined) as never,
    workerById: (id: string) => ({ principal: id === "w-bank" ? null : id.slice(2) }) as never,
  };
  const spans = ["api::x", "secret::pay", "other::y", "none::such"].map((id) =>
    someSpan({ attributes: { "svc.function_id": id } }),
  );
  takeFrame(ingest, directory, "traces", Buffer.from(JSON.stringify(encodeTraces(spans))), restricted("acme"));
  ingest.stop(1_000);
  expect(telemetry.ended.map(({ attributes }) => attributes["svc.function_id"])).toEqual([
    "api::x",
    undefined,
    undefined,
    undefined,
  ]);
});

test("telemetry of restricted principals that waits leaves room for trusted senders", () => {
  const { ingest, telemetry } = start();
  const origin = (id: string) => ({ worker: undefined, isFrame: true, mayBeWorker: () => false, restrictedTo: id });
  const body = { signal: "traces" as const, bytes: 6 * 1024 * 1024, parse: () => request(1), onDone: undefined };
  expect(["a", "b", "c", "d"].map((id) => ingest.offer(id, { ...body, origin: origin(id) }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(
    ingest.offer("owner", { ...body, origin: { worker: undefined, isFrame: true, mayBeWorker: () => false } }),
  ).toBe(true);
  expect(telemetry.counts.get("spans ingest_queue_full")).toBe(2);
});
