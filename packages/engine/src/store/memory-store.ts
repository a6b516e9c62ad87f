import { randomUUID } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ProcedureTable, Store } from "../kernel/store-contract.ts";
import { AppliedListeners } from "./applied-listeners.ts";
import { DatabaseFailed, runBatch } from "./batch.ts";
import { openDatabase } from "./driver.ts";
import { LogClock } from "./log-clock.ts";
import { openModule } from "./open-module.ts";
import type { ProceduresModule } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

export interface MemoryStoreOptions {
  readonly log: Logger;
  /** Clock from which the store takes its time. */
  readonly clock: Clock;
}

/**
 * Runs procedures on a database in memory. Each call runs at once, as its own transaction. The size of the database is
 * not limited here: its procedures must limit it.
 */
export async function openMemoryStore<Procedures extends ProcedureTable>(
  procedures: URL,
  { log, clock }: MemoryStoreOptions,
): Promise<Store<Procedures>> {
  return memoryStore<Procedures>((await import(procedures.href)) as ProceduresModule, { log, clock });
}

function memoryStore<Procedures extends ProcedureTable>(
  module: ProceduresModule,
  { log, clock }: MemoryStoreOptions,
): Store<Procedures> {
  const database = openDatabase(":memory:");
  database.exec(module.schema.join(";\n"));
  const { procedures, buffer, time } = openModule(module, database);
  const logClock = new LogClock(clock, undefined, () => {});
  const run = randomUUID();
  const listeners = new AppliedListeners<Procedures>(log);
  let closed = false;

  function runOne(request: Request): Answer | undefined {
    time.begin(logClock.read(), procedures[request.procedure]?.kind === "write");
    try {
      return runBatch(database, procedures, buffer, [request])[0];
    } catch (thrown) {
      if (thrown instanceof DatabaseFailed) throw storageFailed(thrown.message);
      throw thrown;
    }
  }

  return {
    run,
    isShared: false,
    members: () => [run],
    onRunsGone: () => () => {},
    skewMs: () => logClock.skewMs(),
    onApplied: (listener) => listeners.add(listener),
    async call(name, input, options) {
      if (closed) throw new CallError("draining", "the store is closed and accepts no more requests");
      const request = { procedure: name, input };
      const answer = runOne(request);
      if (answer?.status === "refused") throw new CallError(answer.code, answer.message, { details: answer.details });
      if (answer?.status !== "done") throw storageFailed(answer?.message ?? "no answer");
      if (procedures[name]?.kind === "write") listeners.reportOwn(request, answer.output, options?.mark);
      // The output type is that of the named procedure.
      return answer.output as never;
    },
    readLocal(name, input) {
      return this.call(name, input);
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
