import { expect, it } from "vitest";
import { itemOf, lineOf, type MonitorMessage, previewOf, previousOf, resendOf } from "./message.ts";
import { exportText, importText } from "./message-file.ts";
import { readSubscription, subscriptionName } from "./subscription-names.ts";

function message(seq: number, event: string, more: Partial<MonitorMessage> = {}): MonitorMessage {
  const type = /"type":"(\w+)"/.exec(event)?.[1] ?? "";
  const payload = `{"type":"stream","timestamp":1,"streamName":"orders","groupId":"eu","id":"o-1","event":${event},"seq":7,"version":2}`;
  return {
    kind: "message",
    id: `m-${seq}`,
    seq,
    direction: "outbound",
    timestamp: 1,
    connection_id: "c",
    stream: "orders",
    group: "eu",
    type,
    bytes: payload.length,
    payload,
    truncated: false,
    ...more,
  };
}

it("returns the data of a message, also if its strings contain brackets", () => {
  expect(previewOf(message(1, '{"type":"update","data":{"a":"}\\",[","b":[1,{"c":2}]}}'))).toBe(
    '{"a":"}\\",[","b":[1,{"c":2}]}',
  );
  expect(previewOf(message(1, '{"type":"event","event":{"type":"hi","data":12345678901234567890}}'))).toBe(
    '{"type":"hi","data":12345678901234567890}',
  );
});

it("writes an event for one row: its name, then its data", () => {
  const event = message(1, '{"type":"event","event":{"type":"said","data":{"text":"hi"}}}', { type: "event" });
  expect(lineOf(event)).toBe('said {"text":"hi"}');
  expect(lineOf(message(1, '{"type":"update","data":{"a":1}}'))).toBe('{"a":1}');
});

it("reads the item id from the message, never from the user's data", () => {
  expect(itemOf(message(1, '{"type":"update","data":{"id":"other"}}'))).toBe("o-1");
  expect(
    itemOf(
      message(1, "{}", {
        payload: '{"type":"stream","id":null,"event":{"type":"event","event":{"type":"x","data":{"id":"mine"}}}}',
      }),
    ),
  ).toBeNull();
});

it("finds the previous message of the same item on the same connection", () => {
  const rows = [
    message(1, '{"type":"create","data":1}'),
    message(2, '{"type":"update","data":2}', { connection_id: "other" }),
    message(3, '{"type":"update","data":3}'),
  ];
  expect(previousOf(rows, rows[2] as MonitorMessage)?.seq).toBe(1);
  expect(previousOf(rows, rows[0] as MonitorMessage)).toBeUndefined();
});

it("resends an event with all digits of numbers, and only complete events of users' streams", () => {
  const event = message(1, '{"type":"event","event":{"type":"hi \\"x\\"","data":{"n":12345678901234567890}}}');
  expect(resendOf(event)).toEqual({
    type: 'hi "x"',
    payloadJson:
      '{"stream_name":"orders","group_id":"eu","id":"o-1","type":"hi \\"x\\"","data":{"n":12345678901234567890}}',
  });
  expect(resendOf({ ...event, truncated: true })).toBeUndefined();
  expect(resendOf({ ...event, stream: "svc.logs" })).toBeUndefined();
  expect(resendOf(message(1, '{"type":"update","data":1}'))).toBeUndefined();
});

it("formats and parses subscriptions in the address, also with colons in the names", () => {
  for (const [stream, group] of [
    ["orders", "eu"],
    ["a:b%3A", "c:d"],
    ["x y", "ü"],
  ] as const)
    expect(readSubscription(subscriptionName(stream, group))).toEqual({ stream, group });
  for (const bad of ["", "orders", ":eu", "orders:"]) expect(readSubscription(bad)).toBeUndefined();
});

it("imports what it exports, in both formats, and rejects other files", () => {
  const rows = [message(2, '{"type":"update","data":2}'), message(1, '{"type":"update","data":1}')];
  for (const format of ["json", "ndjson"] as const) {
    const { messages, refused } = importText(exportText(rows, format));
    expect(refused).toBe(0);
    expect(messages.map(({ payload }) => payload)).toEqual([rows[1]?.payload, rows[0]?.payload]);
  }
  expect(importText(`${exportText(rows, "ndjson")}nonsense\n{"a":1}\n`).refused).toBe(2);
  expect(() => importText("hello")).toThrow("contains no messages");
});

it("masks secrets in exports", () => {
  const rows = [
    message(1, '{"type":"update","data":{"password":"p1","n":1}}'),
    message(2, '{"type":"update","data":{"token":"t1', { truncated: true }),
  ];
  const text = exportText(rows, "json");
  expect(text).not.toMatch(/p1|t1/);
  const { messages } = importText(text);
  expect(messages.map(previewOf)).toEqual([expect.stringContaining('"token":"***"'), '{"password":"***","n":1}']);
});
