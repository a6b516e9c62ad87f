import { Worker } from "node:worker_threads";
import type { BatchTime } from "../log-time.ts";
import type { Request } from "../thread-messages.ts";
import { copyReplica } from "./copy-replica.ts";
import type { ReplicaPlace } from "./open-replica.ts";
import type { EntryToApply, OpenedReplica, ReplicaHost } from "./replica-messages.ts";

/** Data that the thread is started with. */
export interface ReplicaThreadStart {
  /** URL of the compiled file of procedures. */
  readonly procedures: string;
  readonly place: ReplicaPlace;
}

export type ReplicaCall =
  | { readonly method: "apply"; readonly entries: readonly EntryToApply[] }
  | { readonly method: "read"; readonly requests: readonly Request[]; readonly time: BatchTime }
  | { readonly method: "answersOf"; readonly run: string }
  | { readonly method: "close" };

export type FromReplicaThread =
  | { readonly kind: "open"; readonly opened: OpenedReplica }
  | { readonly kind: "refused"; readonly message: string }
  /** Answers arrive in the order of the calls. */
  | { readonly kind: "answer"; readonly value: unknown }
  | { readonly kind: "error"; readonly message: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

type FileReplicaPlace = ReplicaPlace & { readonly file: string };

/** Opens a replica in a file, in a thread of its own. Rejects with an Error that says why it cannot be used. */
export async function openThreadReplica(procedures: URL, place: FileReplicaPlace): Promise<ReplicaHost> {
  const workerData: ReplicaThreadStart = { procedures: procedures.href, place };
  const worker = new Worker(new URL("./replica-thread-entry.js", import.meta.url), { workerData, name: "svc-replica" });
  const waiting: Waiting[] = [];
  let ended: Error | undefined;
  let failure = "it ended without an error message";
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  void exited.then(() => {
    ended = new Error(`the thread of the replica ended: ${failure}`);
    for (const { reject } of waiting.splice(0)) reject(ended);
  });
  worker.on("error", (error) => {
    failure = error instanceof Error ? error.message : String(error);
  });
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (ended === undefined) waiting.push({ resolve, reject });
      else reject(ended);
    });
  worker.on("message", (message: FromReplicaThread) => {
    const first = waiting.shift();
    if (message.kind === "open") first?.resolve(message.opened);
    else if (message.kind === "answer") first?.resolve(message.value);
    else first?.reject(new Error(message.message));
  });
  const opened = (await next()) as OpenedReplica;
  // The cast is safe, because the thread answers with the result of the replica's method of this name.
  const call = <Answer>(message: ReplicaCall): Promise<Answer> => {
    worker.postMessage(message);
    return next() as Promise<Answer>;
  };
  return {
    opened,
    apply: (entries) => call({ method: "apply", entries }),
    read: (requests, time) => call({ method: "read", requests, time }),
    answersOf: (run) => call({ method: "answersOf", run }),
    snapshot: (target, signal) => {
      const { file, identity, driver } = place;
      return copyReplica({ file, identity, driver, target }, signal);
    },
    async close() {
      if (ended !== undefined) return;
      try {
        await call({ method: "close" });
      } finally {
        await exited;
      }
    },
  };
}
