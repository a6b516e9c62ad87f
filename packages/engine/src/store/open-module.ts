import type { ProcedureTable } from "../kernel/store-contract.ts";
import type { Database } from "./driver.ts";
import { LogTime } from "./log-time.ts";
import { type ProceduresModule, type StoreRuns, type StoreTime, type WriteBuffer, write } from "./procedures.ts";

/** Name of the procedure that does nothing but store the time. It is called after the wall clock was set. */
export const STORE_TIME = "store:time";

/** A database with its procedures, its write buffer and its log time. */
export interface OpenedModule {
  readonly procedures: ProcedureTable;
  readonly buffer: WriteBuffer;
  readonly time: LogTime;
}

export function openModule(module: ProceduresModule, database: Database): OpenedModule {
  const time = new LogTime(database);
  const { procedures, buffer: own } = openProcedures(module, database, time, { isMember: () => false });
  const buffer: WriteBuffer = {
    flush() {
      own.flush();
      time.flush();
    },
    discard() {
      own.discard();
      time.discard();
    },
  };
  return { procedures: { ...procedures, [STORE_TIME]: write((_: null) => undefined) }, buffer, time };
}

/**
 * Opens the procedures with the given time and runs. If the procedures have no buffer, the returned one does nothing.
 */
export function openProcedures(
  module: ProceduresModule,
  database: Database,
  time: StoreTime,
  runs: StoreRuns,
): { readonly procedures: ProcedureTable; readonly buffer: WriteBuffer } {
  let buffer: WriteBuffer = { flush() {}, discard() {} };
  const procedures = module.openProcedures(
    database,
    (given) => {
      buffer = given;
    },
    time,
    runs,
  );
  return { procedures, buffer };
}

/** Returns the names of the module's procedures that write. */
export function writesOf({ procedures }: Pick<OpenedModule, "procedures">): readonly string[] {
  return Object.entries(procedures).flatMap(([name, { kind }]) =>
    kind === "write" && name !== STORE_TIME ? [name] : [],
  );
}
