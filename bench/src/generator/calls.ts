import { type FrameTemplate, ID_BYTES, SlotIds, slotOfId } from "../frame-template.ts";
import { LARGE_SCOPE, PAGE_PREFIX } from "../large-scope.ts";
import { otherThan, payloadOfBytes } from "../payloads.ts";
import { pause } from "../ports.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { CallLoad, Window } from "./load.ts";
import { equals, expectPayload, FrameCheck, Peer } from "./peer.ts";
import { callTemplate, resultTemplate } from "./wire-frames.ts";

/**
 * Id of the function that the callees of this process register. Each process has its own id, because otherwise the
 * engines of a cluster would send calls of this load generator to callees of other ones. The id is as long as
 * `bench::echo`, so that frames have the same size as those of the other scenarios.
 */
const ECHO = `bench::${(process.pid & 0xffff).toString(16).padStart(4, "0")}`;
const STATE_SCOPE = "bench";

interface Target {
  readonly functionId: string;
  /** Payloads that a slot sends in turn. They differ, because the engine does not write a value that is unchanged. */
  dataOf(slot: number): readonly string[];
  isResult(result: unknown): boolean;
}

function targetOf(load: CallLoad): Target {
  const payload = payloadOfBytes(load.payloadBytes);
  const isPayload = equals(JSON.parse(payload));
  if (load.target === "echo") return { functionId: ECHO, dataOf: () => [payload], isResult: isPayload };
  const item = (slot: number, name: string): string =>
    `"scope":"${STATE_SCOPE}","key":"${name}-${String(slot).padStart(5, "0")}"`;
  switch (load.target) {
    case "state::get":
      return {
        functionId: load.target,
        dataOf: (slot) => [`{${item(slot, "key")}}`],
        isResult: isOneOf(payload, otherThan(payload)),
      };
    case "state::set": {
      const values = [payload, otherThan(payload)];
      const isValue = isOneOf(...values);
      return {
        functionId: load.target,
        dataOf: (slot) => values.map((value) => `{${item(slot, "key")},"value":${value}}`),
        isResult: (result) => isValue((result as { new_value?: unknown } | null)?.new_value),
      };
    }
    case "state::update":
      return {
        functionId: load.target,
        dataOf: (slot) => [`{${item(slot, "counter")},"ops":[{"type":"increment","path":"n","by":1}]}`],
        isResult: (result) => typeof (result as { new_value?: { n?: unknown } } | null)?.new_value?.n === "number",
      };
    case "state::entries":
      return {
        functionId: load.target,
        dataOf: () => [`{"scope":"${LARGE_SCOPE}","prefix":"${PAGE_PREFIX}","limit":100}`],
        isResult: (result) => (result as { items?: unknown[] } | null)?.items?.length === 100,
      };
  }
}

function isOneOf(...values: readonly string[]): (value: unknown) => boolean {
  const checks = values.map((value) => equals(JSON.parse(value)));
  return (value) => checks.some((check) => check(value));
}

/** Wait in milliseconds, until the other engines of a cluster know a new function. It takes them less time. */
const MIRRORED_MS = 1_000;

/** Makes calls in a closed loop through an engine, from and to connections of this process. */
export async function runCalls(load: CallLoad): Promise<Window> {
  const target = targetOf(load);
  const peers: Peer[] = [];
  try {
    const callers: Peer[] = [];
    const slotIds = Array.from({ length: load.concurrency }, (_, slot) => new SlotIds(slot));
    const templates = slotIds.map((_, slot) =>
      load.target === "echo" && slot > 0 ? undefined : templatesOf(target, slot),
    );
    const turns = new Uint32Array(load.concurrency);
    const loop = new ClosedLoop(load, load.concurrency, (slot) => {
      const ofSlot = templates[slot] ?? (templates[0] as NonNullable<(typeof templates)[0]>);
      const turn = turns[slot] as number;
      turns[slot] = turn + 1;
      const template = ofSlot[turn % ofSlot.length] as FrameTemplate;
      (callers[slot % callers.length] as Peer).queue(template.withId((slotIds[slot] as SlotIds).next()));
    });
    const onLost = (error: Error): void => loop.fail(error);
    for (let index = 0; index < load.callees; index++)
      peers.push(await connectCallee(load, `bench-callee-${index}`, onLost));
    // Wait until the callers' engine knows the function too.
    if (load.calleePort !== undefined && load.callees > 0) await pause(MIRRORED_MS);
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

function templatesOf(target: Target, slot: number): FrameTemplate[] {
  return target.dataOf(slot).map((data) => callTemplate(target.functionId, data));
}

async function connectCallee(load: CallLoad, name: string, onLost: (error: Error) => void): Promise<Peer> {
  const payload = payloadOfBytes(load.payloadBytes);
  const answer = resultTemplate(ECHO, payload);
  const check = new FrameCheck(expectPayload("invokefunction", equals(JSON.parse(payload))));
  const callee: Peer = await Peer.connect(load.calleePort ?? load.port, name, {
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
