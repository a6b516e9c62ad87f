import { parentPort, workerData } from "node:worker_threads";
import { noteUnsynced } from "../failed-sync.ts";
import type { ProceduresModule } from "../procedures.ts";
import { openReplica } from "./open-replica.ts";
import type { ApplyResult } from "./replica-messages.ts";
import type { FromReplicaThread, ReplicaCall, ReplicaThreadStart } from "./replica-thread.ts";

const port = parentPort;
if (port === null) throw new Error("replica-thread-entry.ts is the entry of a worker thread; use openThreadReplica");
const { procedures, place } = workerData as ReplicaThreadStart;
const send = (message: FromReplicaThread): void => port.postMessage(message);

const module = (await import(procedures)) as ProceduresModule;
try {
  const { replica, close } = openReplica(module, place);
  const answer = (call: ReplicaCall): unknown => {
    switch (call.method) {
      case "apply":
        return marked(replica.apply(call.entries));
      case "read":
        return replica.read(call.requests, call.time);
      case "answersOf":
        return replica.answersOf(call.run);
      case "close":
        return close();
    }
  };
  port.on("message", (call: ReplicaCall) => {
    try {
      send({ kind: "answer", value: answer(call) });
    } catch (thrown) {
      send({ kind: "error", message: thrown instanceof Error ? thrown.message : String(thrown) });
    }
    if (call.method === "close") port.close();
  });
  send({ kind: "open", opened: replica.opened });
} catch (thrown) {
  send({ kind: "refused", message: thrown instanceof Error ? thrown.message : String(thrown) });
  port.close();
}

/** Marks the file after an I/O error, so that the next start makes the replica anew. */
function marked(result: ApplyResult): ApplyResult {
  if (result.failure?.fatal === true && result.failure.isDamage && place.file !== undefined) noteUnsynced(place.file);
  return result;
}
