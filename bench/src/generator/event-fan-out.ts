import { randomUUID } from "node:crypto";
import { ID_BYTES, SlotIds } from "../frame-template.ts";
import { payloadOfBytes } from "../payloads.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { EventFanOutLoad, Window } from "./load.ts";
import { equals, expectPayload, FrameCheck, Peer } from "./peer.ts";
import { callTemplate, resultTemplate } from "./wire-frames.ts";

/** Number of events in flight. With this number, no subscriber has to wait for the publisher. */
const EVENTS_IN_FLIGHT = 8;

/** Publishes in a closed loop. An event is complete when every subscriber was called with it. */
export async function runEventFanOut(load: EventFanOutLoad): Promise<Window> {
  const peers: Peer[] = [];
  // Each window has its own topic, because the engine may still keep triggers of the previous window for a reconnect.
  const topic = `bench.${randomUUID()}`;
  const payload = payloadOfBytes(load.payloadBytes);
  /** Slot of each event, by its number, and the number of subscribers that were not called yet. */
  const slots: number[] = [];
  const missing: number[] = [];
  try {
    const publish = callTemplate("publish", `{"topic":"${topic}","data":${payload}}`);
    const ids = Array.from({ length: EVENTS_IN_FLIGHT }, (_, slot) => new SlotIds(slot));
    let publisher: Peer | undefined;
    const loop = new ClosedLoop(load, EVENTS_IN_FLIGHT, (slot) => {
      slots.push(slot);
      missing.push(load.subscribers);
      publisher?.queue(publish.withId((ids[slot] as SlotIds).next()));
      // A connection flushes automatically only after it has read something itself. This callback runs for reads of
      // other connections, so the publisher must be flushed here.
      publisher?.flush();
    });
    const onLost = (error: Error): void => loop.fail(error);
    const heard = (number: number): void => {
      missing[number] = (missing[number] as number) - 1;
      if (missing[number] === 0) loop.answered(slots[number] as number);
    };
    for (let index = 0; index < load.subscribers; index++)
      peers.push(await connectSubscriber(load, { index, topic, payload, heard, onLost }));
    const accepted = new FrameCheck(
      expectPayload("invocationresult", (result) => result === null || result === undefined),
    );
    publisher = await Peer.connect(load.port, "bench-publisher", {
      onInvocation: (frame) => accepted.verify(frame),
      onLost,
    });
    peers.push(publisher);
    await publisher.settled();
    loop.start();
    return await loop.window;
  } finally {
    for (const peer of peers) peer.close();
  }
}

interface Subscribing {
  readonly index: number;
  readonly topic: string;
  readonly payload: string;
  /**
   * Called with the number of each event. The number is counted, because the events of one publisher arrive in order.
   */
  readonly heard: (number: number) => void;
  readonly onLost: (error: Error) => void;
}

async function connectSubscriber(
  load: EventFanOutLoad,
  { index, topic, payload, heard, onLost }: Subscribing,
): Promise<Peer> {
  const functionId = `${topic}.${index}`;
  const answer = resultTemplate(functionId, "null");
  const check = new FrameCheck(expectPayload("invokefunction", equals(JSON.parse(payload))));
  let events = 0;
  const subscriber: Peer = await Peer.connect(load.port, `bench-subscriber-${index}`, {
    onInvocation(frame, idAt) {
      check.verify(frame);
      subscriber.queue(answer.withId(frame.subarray(idAt, idAt + ID_BYTES)));
      heard(events++);
    },
    onLost,
  });
  const id = randomUUID();
  subscriber.send({ type: "registerfunction", id: functionId });
  subscriber.send({ type: "registertrigger", id, trigger_type: "event", function_id: functionId, config: { topic } });
  await subscriber.awaitControl((message) => message.id === id && message.status === "active");
  return subscriber;
}
