import type { ProcedureTable } from "../kernel/store-contract.ts";
import type { Database } from "./driver.ts";
import { LogTime } from "./log-time.ts";
import { type ProceduresModule, type WriteBuffer, write } from "./procedures.ts";

/** Name of the procedure that stores the time after the wall clock was set. */
export const STORE_TIME = "store:time";

/** A database with its procedures, buffer and time. */
export interface OpenedModule {
  readonly procedures: ProcedureTable;
  readonly buffer: WriteBuffer;
  readonly time: LogTime;
}

export function openModule(module: ProceduresModule, database: Database): OpenedModule {
  const time = new LogTime(database);
  let own: WriteBuffer | undefined;
  const procedures = module.openProcedures(
    database,
    (given) => {
      own = given;
    },
    time,
  );
  const buffer: WriteBuffer = {
    flush() {
      own?.flush();
      time.flush();
    },
    discard() {
      own?.discard();
      time.discard();
    },
  };
  return { procedures: { ...procedures, [STORE_TIME]: write((_: null) => undefined) }, buffer, time };
}

/** Returns the names of the module's procedures that write. */
export function writesOf({ procedures }: OpenedModule): readonly string[] {
  return Object.entries(procedures).flatMap(([name, { kind }]) =>
    kind === "write" && name !== STORE_TIME ? [name] : [],
  );
}
