import { describe, expect, it } from "vitest";
import { FilteredRows } from "./filtered-rows.ts";
import type { MonitorMessage, TappedMessage } from "./message.ts";
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

describe("the log of messages", () => {
  it("counts every message of a minute at 2,000 a second, and keeps the latest 20,000", () => {
    const log = new MessageLog("t");
    for (let tick = 0; tick < 600; tick++) {
      const messages = Array.from({ length: 200 }, (_, at) => message({ direction: at % 4 === 0 ? "inbound" : "outbound" }));
      log.add({ messages, dropped: tick % 100 === 0 ? 3 : 0 }, tick * 100);
    }
    expect(log.counters(60_000)).toEqual({
      total: 120_018,
      inbound: 30_000,
      outbound: 90_000,
      bytes: 1_200_000,
      perSecond: 2_000,
      buffered: MAX_ROWS,
      dropped: 18,
      isAtLeast: false,
    });
    expect(log.rows()).toHaveLength(MAX_ROWS);
    expect(log.firstSeq).toBe(100_001);
  });

  it("keeps less of messages that are long, and never nothing of the counts", () => {
    const log = new MessageLog("t");
    const payload = "x".repeat(4_096);
    for (let batch = 0; batch < 100; batch++) log.add({ messages: Array.from({ length: 200 }, () => message({ payload })), dropped: 0 }, 0);
    expect(log.rows().length).toBe((32 * 1024 * 1024) / 4_096);
    expect(log.counters(0).total).toBe(20_000);
  });

  it("says that figures are at least so much once something was missed", () => {
    const log = new MessageLog("t");
    log.mark({ what: "gap", timestamp: 1, reason: "overflow" }, true);
    expect(log.counters(0).isAtLeast).toBe(true);
  });

  it("amends a marker in place, and writes it anew where it is gone", () => {
    const log = new MessageLog("t");
    const marker = log.mark({ what: "paused", timestamp: 1 });
    log.amend(marker, { untilMs: 2, received: 0, lost: 0 });
    expect(log.rows()).toEqual([marker]);
    expect(marker).toMatchObject({ untilMs: 2 });
    for (let batch = 0; batch < 101; batch++) log.add({ messages: Array.from({ length: 200 }, () => message()), dropped: 0 }, 0);
    log.amend(marker, { received: 5 });
    expect(log.rows().at(-1)).toMatchObject({ kind: "marker", received: 5 });
  });
});

describe("the rows that a filter lets through", () => {
  it("shows the newest first, hides system streams and connections' talk unless asked for, and counts both directions", () => {
    const log = new MessageLog("t");
    log.add(
      {
        messages: [
          message({ payload: "a" }),
          message({ stream: "svc.workers" }),
          message({ type: "join", direction: "inbound" }),
          message({ payload: "b", direction: "inbound" }),
        ],
        dropped: 0,
      },
      0,
    );
    const payloads = (view: FilteredRows, direction?: "inbound") => view.read(direction).rows.map((row) => (row as MonitorMessage).payload);
    const plain = new FilteredRows(log, messageTest({}), 0);
    expect(payloads(plain)).toEqual(["b", "a"]);
    expect(plain.read(undefined)).toMatchObject({ inbound: 1, outbound: 1 });
    expect(payloads(plain, "inbound")).toEqual(["b"]);
    expect(new FilteredRows(log, messageTest({ system: true, events: true }), 0).read(undefined).rows).toHaveLength(4);
    expect(payloads(new FilteredRows(log, messageTest({ q: "/^[b]$/" }), 0))).toEqual(["b"]);
    expect(() => messageTest({ q: "/(/" })).toThrow(SyntaxError);
  });

  it("drops rows that the log no longer keeps", () => {
    const log = new MessageLog("t");
    const view = new FilteredRows(log, messageTest({}), 0);
    for (let batch = 0; batch < 150; batch++) {
      log.add({ messages: Array.from({ length: 200 }, () => message()), dropped: 0 }, 0);
      view.read(undefined);
    }
    expect(view.read(undefined).rows).toHaveLength(MAX_ROWS);
    expect(view.read(undefined).rows.at(-1)?.seq).toBe(log.firstSeq);
  });
});
