import { CallError } from "@svc-runtime/protocol";
import type { ProcedureTable, Store } from "../kernel/store-contract.ts";
import { DatabaseFailed, runBatch } from "./batch.ts";
import { openDatabase } from "./driver.ts";
import type { ProceduresModule, WriteBuffer } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

/**
 * Runs procedures on a database in memory, each call at once and as its own transaction. The database's size has no
 * limit of its own: the procedures bound it.
 */
export async function openMemoryStore<Procedures extends ProcedureTable>(procedures: URL): Promise<Store<Procedures>> {
  return memoryStore<Procedures>((await import(procedures.href)) as ProceduresModule);
}

function memoryStore<Procedures extends ProcedureTable>(module: ProceduresModule): Store<Procedures> {
  const database = openDatabase(":memory:");
  database.exec(module.schema.join(";\n"));
  let buffer: WriteBuffer = { flush: () => {}, discard: () => {} };
  const procedures = module.openProcedures(database, (given) => {
    buffer = given;
  });
  let closed = false;

  function runOne(request: Request): Answer | undefined {
    try {
      return runBatch(database, procedures, buffer, [request])[0];
    } catch (thrown) {
      if (thrown instanceof DatabaseFailed) throw storageFailed(thrown.message);
      throw thrown;
    }
  }

  return {
    async call(name, input) {
      if (closed) throw new CallError("draining", "the store is closed and accepts no more requests");
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
}

function storageFailed(reason: string): CallError {
  return new CallError("storage_failed", reason, { details: { reason, outcome: "not_written" } });
}
