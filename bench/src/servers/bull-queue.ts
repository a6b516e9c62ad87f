// Adds and runs jobs in BullMQ, in the Redis with the given port. The first argument is the folder with its package.
import { loadInstalled } from "../clients/installed-package.ts";
import { ClosedLoop } from "../generator/closed-loop.ts";
import type { Window } from "../generator/load.ts";
import { payloadOfBytes } from "../payloads.ts";

export interface BullRequest {
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly observe: readonly number[];
}

export type BullReply = { readonly window: Window } | { readonly error: string };

interface BullJob {
  readonly data: { readonly slot: number };
}

interface Connected {
  close(): Promise<void>;
}

/** The used part of the package. */
interface BullMq {
  Queue: new (
    name: string,
    options: object,
  ) => Connected & {
    add(name: string, data: object, options: object): Promise<unknown>;
    obliterate(options: object): Promise<void>;
    waitUntilReady(): Promise<unknown>;
  };
  Worker: new (
    name: string,
    run: (job: BullJob) => Promise<null>,
    options: object,
  ) => Connected & { waitUntilReady(): Promise<unknown> };
}

const [packages = "", port = "0"] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };

async function measure({ Queue, Worker }: BullMq, request: BullRequest): Promise<Window> {
  const name = `bench-${process.hrtime.bigint()}`;
  const payload: unknown = JSON.parse(payloadOfBytes(request.payloadBytes));
  const missing = new Uint8Array(request.concurrency);
  const arrived = (slot: number): void => {
    missing[slot] = (missing[slot] as number) - 1;
    if (missing[slot] === 0) loop.answered(slot);
  };
  const run = async ({ data: { slot } }: BullJob): Promise<null> => {
    arrived(slot);
    return null;
  };
  const queue = new Queue(name, { connection });
  const worker = new Worker(name, run, { connection, concurrency: request.concurrency });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  const loop = new ClosedLoop(request, request.concurrency, (slot) => {
    missing[slot] = 2;
    queue.add("job", { slot, payload }, { attempts: 3, removeOnComplete: true }).then(
      () => arrived(slot),
      (error: Error) => loop.fail(error),
    );
  });
  loop.start();
  try {
    return await loop.window;
  } finally {
    await worker.close();
    await queue.obliterate({ force: true });
    await queue.close();
  }
}

process.on("disconnect", () => process.exit(0));
loadInstalled<BullMq>(packages, "bullmq").then(
  (bullmq) => {
    process.on("message", (request: BullRequest) => {
      measure(bullmq, request).then(
        (window) => process.send?.({ window } satisfies BullReply),
        (error: Error) => process.send?.({ error: error.message } satisfies BullReply),
      );
    });
    process.send?.({});
  },
  (error: Error) => process.send?.({ error: error.message }),
);
