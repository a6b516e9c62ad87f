import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Principal, TRUSTED } from "@svc-runtime/engine/module";
import { accessTo, type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import observability from "../index.ts";
import { encodeTraces } from "../otlp/encode.ts";
import { someSpan } from "../otlp/testing/records.ts";
import type { SpanRecord } from "../telemetry-records.ts";
import { readStoredSpan } from "./functions/read-stored-span.ts";

const directory = mkdtempSync(join(tmpdir(), "svc-forged-spans-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});

const QUERY = "SELECT card FROM t WHERE n=4242";
const SQL_SPAN = "00000000000000aa";

let folders = 0;
const storages = {
  memory: () => ({}),
  disk() {
    folders += 1;
    return { trace_storage: { enabled: true, directory: join(directory, String(folders)) } };
  },
};

/** A trusted `secret::pay` runs a query and calls `api::x` of a guest, which may neither call nor see `secret::pay`. */
async function site(config: object) {
  const running = await inMemoryEngine({ modules: [observability], config: { "svc-observability": config } });
  engine = running;
  const guest = await running.connectWorker({
    name: "guest",
    access: accessTo(['match("engine::traces::*")', 'match("api::*")']),
  });
  guest.serve("api::x", () => null);
  await guest.call("engine::none");
  const bank = await running.connectWorker({ name: "bank" });
  const principal = running.kernel.sessions.byId(guest.id)?.principal as Principal;
  let sent = 0;
  const send = async (
    from: { readonly worker: { readonly id: string; readonly name: string }; readonly principal: Principal },
    span: Partial<SpanRecord>,
  ) => {
    running.kernel.telemetry.collector?.ingest("traces", Buffer.from(JSON.stringify(encodeTraces([someSpan(span)]))), {
      ...from,
      address: undefined,
    });
    sent += 1;
    await expect
      .poll(async () => {
        const { receivers } = (await running.call("engine::telemetry::status", {})) as {
          receivers: readonly { accepted: number }[];
        };
        return receivers[0]?.accepted;
      })
      .toBe(sent);
  };
  const asGuest = { worker: { id: guest.id, name: "guest" }, principal };
  const asBank = { worker: { id: bank.id, name: "bank" }, principal: TRUSTED };
  let traceId = "";
  bank.serve("secret::pay", async (_, { traceparent }) => {
    const [, trace = "", parentSpanId] = String(traceparent).split("-");
    traceId = trace;
    await send(asBank, { traceId, spanId: SQL_SPAN, parentSpanId, name: QUERY });
    await bank.call("api::x", {}, { traceparent });
    return null;
  });
  await bank.call("engine::none");
  await running.call("secret::pay", {});
  const list = (await running.call("engine::traces::spans", { trace_id: traceId })) as {
    spans: { name: string; span_id: string; parent_span_id: string | null }[];
  };
  const payId = list.spans.find(({ name }) => name === "api::x")?.parent_span_id as string;
  return { running, guest, traceId, payId, send, asGuest, asBank };
}

const claims = { "svc.function_id": "api::x" };

describe.each(Object.entries(storages))("forged spans with storage on %s", (storage, config) => {
  it("neither replace the spans of others nor show a guest the spans below", async () => {
    const { running, guest, traceId, payId, send, asGuest } = await site(config());
    const spanFor = async (caller: { call(id: string, payload: unknown): Promise<unknown> }, span_id: string) =>
      JSON.stringify(await caller.call("engine::traces::get_span", { trace_id: traceId, span_id }));
    expect(await spanFor(guest, SQL_SPAN)).not.toContain(QUERY);
    await send(asGuest, { traceId, spanId: payId, name: "forged", attributes: claims });
    expect(await spanFor(guest, SQL_SPAN)).not.toContain(QUERY);
    expect(JSON.stringify(await guest.call("engine::traces::spans", { trace_id: traceId }))).not.toContain(QUERY);
    expect(
      JSON.stringify(await guest.call("engine::traces::list", { text: "card", search_all_spans: true })),
    ).not.toContain(QUERY);
    expect(await running.call("engine::traces::get_span", { trace_id: traceId, span_id: payId })).toMatchObject({
      name: "secret::pay",
    });
    await send(asGuest, { traceId, spanId: SQL_SPAN, name: "forged", attributes: claims });
    expect(await spanFor(running, SQL_SPAN)).toContain(QUERY);
    const { dropped } = (await running.call("engine::telemetry::status", {})) as { dropped: readonly object[] };
    // In memory they are detected when they are read.
    expect(dropped).toEqual(storage === "disk" ? [{ signal: "spans", reason: "span_of_other_sender", count: 2 }] : []);
    expect(await running.call("engine::traces::list", { trace_id: traceId })).toMatchObject({
      total: 1,
      spans: [
        { name: "secret::pay", trace: { span_count: 3, services: expect.not.arrayContaining(["guest (auth)"]) } },
      ],
    });
  });

  it("do not stand for a parent that is not stored", async () => {
    const { guest, traceId, send, asGuest, asBank } = await site(config());
    const hidden = "00000000000000bb";
    const list = (await guest.call("engine::traces::spans", { trace_id: traceId })).result as {
      spans: { name: string; span_id: string }[];
    };
    const parentSpanId = list.spans.find(({ name }) => name === "api::x")?.span_id;
    await send(asBank, { traceId, spanId: "00000000000000cc", parentSpanId: hidden, name: QUERY });
    await send(asGuest, { traceId, spanId: hidden, parentSpanId, name: "own", attributes: claims });
    const seen = JSON.stringify(await guest.call("engine::traces::spans", { trace_id: traceId }));
    expect(seen).toContain('"own"');
    expect(seen).not.toContain(QUERY);
  });

  it("lose to a trusted span that arrives later", async () => {
    const { running, traceId, send, asGuest, asBank } = await site(config());
    const ids = { traceId, spanId: "00000000000000dd" };
    await send(asGuest, { ...ids, name: "forged", attributes: claims });
    expect(await running.call("engine::traces::get_span", { trace_id: traceId, span_id: ids.spanId })).toMatchObject({
      name: "forged",
    });
    await send(asBank, { ...ids, name: "true" });
    expect(await running.call("engine::traces::get_span", { trace_id: traceId, span_id: ids.spanId })).toMatchObject({
      name: "true",
    });
  });

  it("stay what they are over an export and an import", async () => {
    const { running, send, asGuest, asBank } = await site(config());
    const ids = { traceId: "ab".repeat(16), spanId: "00000000000000ff" };
    await send(asGuest, { ...ids, name: "first" });
    const { lines } = (await running.call("engine::traces::export", { trace_id: ids.traceId })) as { lines: unknown };
    const item = await running.takeReader(lines).read();
    const text = item?.kind === "text" ? item.text : "";
    expect(JSON.parse(text)).toMatchObject({ name: "first", restricted_to: "auth" });
    expect(readStoredSpan(text.trim())?.resource.restrictedTo).toBe("auth");
    await send(asBank, { ...ids, name: "true" });
    expect(
      JSON.stringify(await running.call("engine::traces::get_span", { trace_id: ids.traceId, span_id: ids.spanId })),
    ).not.toContain("restricted_to");
  });

  it("do not claim the function of another principal", async () => {
    const { running, traceId, send, asGuest } = await site(config());
    const span_id = "00000000000000ee";
    await send(asGuest, {
      traceId,
      spanId: span_id,
      name: "own",
      attributes: { "svc.function_id": "secret::pay", "svc.trigger.type": "cron", color: "red" },
    });
    const { attributes_map } = (await running.call("engine::traces::get_span", { trace_id: traceId, span_id })) as {
      attributes_map: object;
    };
    expect(attributes_map).toEqual({ color: "red" });
    await send(asGuest, { traceId, spanId: span_id, name: "own again", attributes: claims });
    expect(await running.call("engine::traces::get_span", { trace_id: traceId, span_id })).toMatchObject({
      name: "own again",
      attributes_map: claims,
    });
  });
});
