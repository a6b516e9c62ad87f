import { ID_BYTES, SlotIds, slotOfId } from "../frame-template.ts";
import { payloadOfBytes } from "../payloads.ts";
import { ClosedLoop } from "./closed-loop.ts";
import type { JobLoad, Window } from "./load.ts";
import { expectPayload, FrameCheck, Peer } from "./peer.ts";
import { callTemplate, resultTemplate } from "./wire-frames.ts";

const JOB = "bench::job";
const SLOT_DIGITS = 5;
const BEFORE_SLOT = Buffer.from('"slot":"');

/**
 * Runs jobs in a closed loop: a job is complete when it was accepted and a worker was called with it. Then the next job
 * of its slot starts.
 */
export async function runJobs(load: JobLoad): Promise<Window> {
  const peers: Peer[] = [];
  try {
    const payload = payloadOfBytes(load.payloadBytes);
    const ids = Array.from({ length: load.concurrency }, (_, slot) => new SlotIds(slot));
    const enqueues = ids.map((_, slot) => {
      const name = String(slot).padStart(SLOT_DIGITS, "0");
      return callTemplate(
        "queue::enqueue",
        `{"queue":"${load.queue}","function_id":"${JOB}","data":{"slot":"${name}","payload":${payload}}}`,
      );
    });
    /** By slot: number of messages that the slot's job still waits for. There are two: `accepted` and the call. */
    const missing = new Uint8Array(load.concurrency);
    let publisher: Peer | undefined;
    const loop = new ClosedLoop(load, load.concurrency, (slot) => {
      missing[slot] = 2;
      publisher?.queue((enqueues[slot] as (typeof enqueues)[0]).withId((ids[slot] as SlotIds).next()));
      // A connection flushes automatically only after it has read something itself. This callback may run for reads of
      // the other connection, so the publisher must be flushed here.
      publisher?.flush();
    });
    const arrived = (slot: number): void => {
      missing[slot] = (missing[slot] as number) - 1;
      if (missing[slot] === 0) loop.answered(slot);
    };
    const onLost = (error: Error): void => loop.fail(error);
    const answer = resultTemplate(JOB, "null");
    const worker: Peer = await Peer.connect(load.port, "bench-job-worker", {
      onInvocation(frame, idAt) {
        const at = frame.indexOf(BEFORE_SLOT) + BEFORE_SLOT.length;
        worker.queue(answer.withId(frame.subarray(idAt, idAt + ID_BYTES)));
        arrived(Number(frame.toString("latin1", at, at + SLOT_DIGITS)));
      },
      onLost,
    });
    peers.push(worker);
    worker.send({ type: "registerfunction", id: JOB });
    await worker.settled();
    const accepted = new FrameCheck(
      expectPayload("invocationresult", (result) => (result as { duplicate?: unknown } | null)?.duplicate === false),
    );
    publisher = await Peer.connect(load.port, "bench-publisher", {
      onInvocation(frame, idAt) {
        accepted.verify(frame);
        arrived(slotOfId(frame, idAt));
      },
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
