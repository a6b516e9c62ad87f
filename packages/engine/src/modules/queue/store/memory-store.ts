import { CallError } from "@svc-runtime/protocol";
import { DatabaseFailed, runBatch } from "../../../store/batch.ts";
import { openDatabase } from "../../../store/driver.ts";
import type { WriteBuffer } from "../../../store/procedures.ts";
import { openProcedures, schema } from "./procedures.ts";
import type { QueueStore } from "./queue-store.ts";

/** Runs the same procedures on a database in memory. The queues' limits bound its size. */
export function openMemoryStore(): QueueStore {
  const database = openDatabase(":memory:");
  database.exec(schema.join(";\n"));
  let gathering: WriteBuffer | undefined;
  const procedures = openProcedures(database, (given) => {
    gathering = given;
  });
  let closed = false;
  return {
    async call(name, input) {
      if (closed) throw new CallError("draining", "the queues are shutting down and accept no more requests");
      const answer = runOne({ procedure: name, input });
      if (answer?.status === "refused") throw new CallError(answer.code, answer.message, { details: answer.details });
      if (answer?.status !== "done") throw storageFailed(answer?.message ?? "no answer");
      // The output type is that of the named procedure.
      return answer.output as never;
    },
    problem: () => undefined,
    damage: () => undefined,
    async close() {
      if (!closed) database.close();
      closed = true;
    },
  };

  function runOne(request: { readonly procedure: string; readonly input: unknown }) {
    if (gathering === undefined) throw new TypeError("the procedures passed no gathering");
    try {
      return runBatch(database, procedures, gathering, [request])[0];
    } catch (thrown) {
      if (thrown instanceof DatabaseFailed) throw storageFailed(thrown.message);
      throw thrown;
    }
  }
}

function storageFailed(reason: string): CallError {
  return new CallError("storage_failed", reason, { details: { reason } });
}
