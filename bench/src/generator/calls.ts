import { ID_BYTES, SlotIds, slotOfId } from "../frame-template.ts";
import { payloadOfBytes } from "../payloads.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { CallLoad, Window } from "./load.ts";
import { equals, expectPayload, FrameCheck, Peer } from "./peer.ts";
import { callTemplate, resultTemplate } from "./wire-frames.ts";

const ECHO = "bench::echo";
const STATE_SCOPE = "bench";

interface Target {
  readonly functionId: string;
  dataOf(slot: number): string;
  isResult(result: unknown): boolean;
}

function targetOf(load: CallLoad): Target {
  const payload = payloadOfBytes(load.payloadBytes);
  const expected: unknown = JSON.parse(payload);
  if (load.target === "echo") return { functionId: ECHO, dataOf: () => payload, isResult: equals(expected) };
  const item = (slot: number): string => `"scope":"${STATE_SCOPE}","key":"key-${String(slot).padStart(5, "0")}"`;
  if (load.target === "state::get") return { functionId: load.target, dataOf: (slot) => `{${item(slot)}}`, isResult: equals(expected) };
  return {
    functionId: load.target,
    dataOf: (slot) => `{${item(slot)},"value":${payload}}`,
    isResult: (result) => equals(expected)((result as { new_value?: unknown } | null)?.new_value),
  };
}

/** Calls in a closed loop through an engine, from and to connections of this process. */
export async function runCalls(load: CallLoad): Promise<Window> {
  const target = targetOf(load);
  const peers: Peer[] = [];
  try {
    const callers: Peer[] = [];
    const slotIds = Array.from({ length: load.concurrency }, (_, slot) => new SlotIds(slot));
    const templates = slotIds.map((_, slot) => (load.target === "echo" && slot > 0 ? undefined : callTemplate(target.functionId, target.dataOf(slot))));
    const loop = new ClosedLoop(load, load.concurrency, (slot) => {
      const template = templates[slot] ?? (templates[0] as NonNullable<(typeof templates)[0]>);
      (callers[slot % callers.length] as Peer).queue(template.withId((slotIds[slot] as SlotIds).next()));
    });
    const onLost = (error: Error): void => loop.fail(error);
    for (let index = 0; index < load.callees; index++) peers.push(await connectCallee(load, `bench-callee-${index}`, onLost));
    for (let index = 0; index < load.callers; index++) {
      const check = new FrameCheck(expectPayload("invocationresult", target.isResult));
      const caller = await Peer.connect(load.port, `bench-caller-${index}`, {
        onInvocation(frame, idAt) {
          check.verify(frame);
          loop.answered(slotOfId(frame, idAt));
        },
        onLost,
      });
      peers.push(caller);
      callers.push(caller);
      await caller.settled();
    }
    loop.start();
    for (const caller of callers) caller.flush();
    return await loop.window;
  } finally {
    for (const peer of peers) peer.close();
  }
}

async function connectCallee(load: CallLoad, name: string, onLost: (error: Error) => void): Promise<Peer> {
  const payload = payloadOfBytes(load.payloadBytes);
  const answer = resultTemplate(ECHO, payload);
  const check = new FrameCheck(expectPayload("invokefunction", equals(JSON.parse(payload))));
  const callee: Peer = await Peer.connect(load.port, name, {
    onInvocation(frame, idAt) {
      check.verify(frame);
      callee.queue(answer.withId(frame.subarray(idAt, idAt + ID_BYTES)));
    },
    onLost,
  });
  callee.send({ type: "registerfunction", id: ECHO });
  await callee.settled();
  return callee;
}
