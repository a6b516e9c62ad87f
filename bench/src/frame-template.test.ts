import { describe, expect, it } from "vitest";
import { FrameTemplate, findInvocationId, SlotIds, slotOfId } from "./frame-template.ts";
import { clientHeaderBytes } from "./websocket-client.ts";

function payloadOf(frame: Buffer): string {
  const bytes = (frame[1] as number) & 0x7f;
  const start = bytes < 126 ? 6 : 8;
  return Buffer.from(
    frame.subarray(start).map((byte, index) => byte ^ (frame[start - 4 + (index & 3)] as number)),
  ).toString();
}

describe("frame templates", () => {
  it("contain another id each time and nothing else changes", () => {
    const template = new FrameTemplate((id) => `{"a":1,"invocation_id":"${id}","data":"${"x".repeat(200)}"}`);
    const ids = new SlotIds(7, 0xab_cdef);
    const first = template.withId(ids.next());
    const second = template.withId(ids.next());

    expect(payloadOf(first)).toBe(
      `{"a":1,"invocation_id":"00000001-0000-4000-8000-cdef00000007","data":"${"x".repeat(200)}"}`,
    );
    expect(payloadOf(second)).toBe(
      `{"a":1,"invocation_id":"00000002-0000-4000-8000-cdef00000007","data":"${"x".repeat(200)}"}`,
    );
    expect(first.length).toBe(clientHeaderBytes(300) + payloadOf(first).length);
  });

  it("reject a frame without an id", () => {
    expect(() => new FrameTemplate(() => "{}")).toThrow("no place for an invocation id");
  });
});

describe("invocation ids", () => {
  it("contain their slot", () => {
    for (const slot of [0, 9, 10, 127, 65_535, 1_000_000]) expect(slotOfId(new SlotIds(slot).next(), 0)).toBe(slot);
  });

  it("are found at either end of a large frame and anywhere in a small one", () => {
    const member = `"invocation_id":"${"1".repeat(36)}"`;
    const big = `"data":"${"x".repeat(5000)}"`;
    for (const text of [`{${member},${big}}`, `{${big},${member}}`, `{"a":1,${member}}`]) {
      const frame = Buffer.from(text);
      const at = findInvocationId(frame);
      expect(frame.toString("latin1", at, at + 36)).toBe("1".repeat(36));
    }
    expect(findInvocationId(Buffer.from(`{${big}}`))).toBe(-1);
    expect(findInvocationId(Buffer.from("{}"))).toBe(-1);
  });
});
