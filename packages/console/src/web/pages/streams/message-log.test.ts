import type { TappedMessage, TapTotals } from "@svc-runtime/protocol/listings";
import { describe, expect, it } from "vitest";
import { FilteredRows } from "./filtered-rows.ts";
import type { MonitorMessage } from "./message.ts";
import { messageTest } from "./message-filter.ts";
import { MAX_ROWS, MessageLog } from "./message-log.ts";

function message(more: Partial<TappedMessage> = {}): TappedMessage {
  return {
    direction: "outbound",
    timestamp: 1,
    connection_id: "c",
    stream: "orders",
    group: "eu",
    type: "update",
    bytes: 10,
    payload: "{}",
    truncated: false,
    ...more,
  };
}

/** The engine's totals after `count` messages of 10 bytes, a quarter of them inbound. */
function totals(count: number): TapTotals {
  return {
    inbound: count / 4,
    outbound: (count / 4) * 3,
    inbound_bytes: (count / 4) * 10,
    outbound_bytes: (count / 4) * 30,
  };
}

describe("the log of messages", () => {
  it("counts every message of a minute at 2,000 per second, and stores the latest 20,000", () => {
    const log = new MessageLog("t");
    log.begin(totals(4_000));
    for (let tick = 1; tick <= 600; tick++) {
      const messages = Array.from({ length: 100 }, () => message());
      log.add({ messages }, tick * 100 - 100);
      // The engine sometimes sends fewer messages than it counts. Two batches are lost.
      if (tick === 300 || tick === 301) continue;
      log.add(
        { messages: tick % 100 === 0 ? messages.slice(3) : messages, totals: totals(4_000 + tick * 200) },
        tick * 100 - 100,
      );
    }
    expect(log.counters(60_000)).toEqual({
      total: 120_000,
      inbound: 30_000,
      outbound: 90_000,
      bytes: 1_200_000,
      perSecond: 2_000,
      buffered: MAX_ROWS,
      dropped: 215,
      isAtLeast: false,
    });
    expect(log.rows()).toHaveLength(MAX_ROWS);
    expect(log.lastSeq - log.firstSeq).toBe(MAX_ROWS - 1);
  });

  it("stores fewer long messages, and still counts all", () => {
    const log = new MessageLog("t");
    const payload = "x".repeat(4_096);
    for (let batch = 0; batch < 100; batch++)
      log.add({ messages: Array.from({ length: 200 }, () => message({ payload })) }, 0);
    expect(log.rows().length).toBe((32 * 1024 * 1024) / 4_096);
    expect(log.counters(0).dropped).toBe(0);
  });

  it("continues from the engine's totals after a reconnect", () => {
    const log = new MessageLog("t");
    log.begin(totals(8));
    log.add({ messages: [message()], totals: totals(12) }, 0);
    // A sync after a gap does not restart the count.
    log.begin(totals(20));
    log.add({ messages: [], totals: totals(24) }, 0);
    expect(log.counters(0)).toMatchObject({ total: 16, inbound: 4, outbound: 12, dropped: 15 });
    log.end();
    // A restarted engine counts from 0.
    log.begin(totals(0));
    log.add({ messages: [message()], totals: totals(4) }, 0);
    expect(log.counters(0)).toMatchObject({ total: 20, inbound: 5, outbound: 15 });
  });

  it("reports lower bounds once messages were missed", () => {
    const log = new MessageLog("t");
    log.mark({ what: "gap", timestamp: 1, reason: "overflow" }, true);
    expect(log.counters(0).isAtLeast).toBe(true);
  });

  it("updates a marker in place, and adds a new one if it was evicted", () => {
    const log = new MessageLog("t");
    const marker = log.mark({ what: "paused", timestamp: 1 });
    log.updateMarker(marker, { untilMs: 2, received: 0, lost: 0 });
    expect(log.rows()).toEqual([marker]);
    expect(marker).toMatchObject({ untilMs: 2 });
    for (let batch = 0; batch < 101; batch++) log.add({ messages: Array.from({ length: 200 }, () => message()) }, 0);
    log.updateMarker(marker, { received: 5 });
    expect(log.rows().at(-1)).toMatchObject({ kind: "marker", received: 5 });
  });
});

describe("the rows that match a filter", () => {
  it("returns the newest first, hides system streams and connection messages by default, and counts both directions", () => {
    const log = new MessageLog("t");
    log.add(
      {
        messages: [
          message({ payload: "a" }),
          message({ stream: "svc.workers" }),
          message({ type: "join", direction: "inbound" }),
          message({ payload: "b", direction: "inbound" }),
        ],
      },
      0,
    );
    const payloads = (view: FilteredRows, direction?: "inbound") =>
      view.read(direction).rows.map((row) => (row as MonitorMessage).payload);
    const plain = new FilteredRows(log, messageTest({}), 0);
    expect(payloads(plain)).toEqual(["b", "a"]);
    expect(plain.read(undefined)).toMatchObject({ inbound: 1, outbound: 1, hidden: 2 });
    expect(payloads(plain, "inbound")).toEqual(["b"]);
    expect(new FilteredRows(log, messageTest({ system: true, events: true }), 0).read(undefined).rows).toHaveLength(4);
    expect(payloads(new FilteredRows(log, messageTest({ q: "/^[b]$/" }), 0))).toEqual(["b"]);
    expect(() => messageTest({ q: "/(/" })).toThrow(SyntaxError);
  });

  it("drops rows that the log has evicted", () => {
    const log = new MessageLog("t");
    const view = new FilteredRows(log, messageTest({}), 0);
    for (let batch = 0; batch < 150; batch++) {
      log.add({ messages: Array.from({ length: 200 }, () => message()) }, 0);
      view.read(undefined);
    }
    expect(view.read(undefined).rows).toHaveLength(MAX_ROWS);
    expect(view.read(undefined).rows.at(-1)?.seq).toBe(log.firstSeq);
  });

  it("counts only stored rows as hidden", () => {
    const log = new MessageLog("t");
    const view = new FilteredRows(log, messageTest({}), 0);
    log.add({ messages: Array.from({ length: 50 }, () => message({ stream: "svc.workers" })) }, 0);
    expect(view.read(undefined).hidden).toBe(50);
    for (let batch = 0; batch < MAX_ROWS / 200; batch++) {
      log.add({ messages: Array.from({ length: 200 }, () => message()) }, 0);
      view.read(undefined);
    }
    expect(view.read(undefined).hidden).toBe(0);
  });
});
