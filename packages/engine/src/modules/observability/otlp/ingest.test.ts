import { afterEach, expect, test } from "vitest";
import { TRUSTED } from "../../../kernel/access/principal.ts";
import { encodeTraces } from "./encode.ts";
import { takeFrame } from "./frames.ts";
import { Ingest, type IngestOutcome } from "./ingest.ts";
import { CollectedTelemetry } from "./testing/collected-telemetry.ts";
import { someSpan } from "./testing/records.ts";

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

const NOBODY = { workerById: () => undefined };

function request(count: number, service = "a"): object {
  const resource = { service, workerId: undefined, attributes: {} };
  return encodeTraces(Array.from({ length: count }, (_, at) => someSpan({ spanId: (at + 1).toString(16).padStart(16, "0"), resource })));
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
  takeFrame(ingest, NOBODY, "traces", Buffer.from(JSON.stringify(request(2))), { worker: { id: "w-1", name: "math" }, address: undefined, principal: TRUSTED });
  await offer(ingest, "other", request(1));
  expect(telemetry.ended.map(({ resource }) => resource.workerId)).toEqual(["w-1", "w-1", undefined]);
});

test("a worker's id from a socket without a worker counts only from that worker's machine", async () => {
  const { ingest, telemetry } = start();
  const body = Buffer.from(JSON.stringify(encodeTraces([someSpan()])));
  const directory = { workerById: () => ({ ip_address: "10.0.0.7:5000" }) as never };
  takeFrame(ingest, directory, "traces", body, { worker: undefined, address: "10.0.0.7:6000", principal: TRUSTED });
  takeFrame(ingest, directory, "traces", body, { worker: undefined, address: "10.0.0.8:6000", principal: TRUSTED });
  takeFrame(ingest, directory, "traces", body, { worker: undefined, address: "[::ffff:10.0.0.7]:6000", principal: TRUSTED });
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
  // The others had theirs in between, however slow the machine is.
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
