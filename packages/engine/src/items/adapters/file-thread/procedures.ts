// This module runs in the store thread. It imports only the store and the items, so that the thread starts fast.
import type { Database } from "../../../store/driver.ts";
import type { ProcedureTable, StoreRuns, StoreTime, WriteBuffer } from "../../../store/procedures.ts";
import { openChangeLog, openDeliveryProcedures } from "./deliveries.ts";
import { openListingProcedures } from "./listing.ts";
import { openScopeProcedures, openScopeTable } from "./scope-table.ts";
import { openWatcherProcedures, openWatcherTable } from "./watchers.ts";
import { openWriteProcedures } from "./writes.ts";

export { schema } from "./schema.ts";

export function openProcedures(
  database: Database,
  useBuffer: (buffer: WriteBuffer) => void,
  time: StoreTime,
  runs: StoreRuns,
) {
  const scopes = openScopeTable(database);
  const watchers = openWatcherTable(database);
  useBuffer({
    flush: () => scopes.flush(),
    discard() {
      scopes.discard();
      watchers.changed();
    },
  });
  return {
    ...openWriteProcedures(database, { scopes, log: openChangeLog(database), watchers }, time),
    ...openListingProcedures(database, scopes, time),
    ...openDeliveryProcedures(database),
    ...openWatcherProcedures(database, watchers, runs),
    ...openScopeProcedures(database, scopes),
  } satisfies ProcedureTable;
}

export type ItemProcedures = ReturnType<typeof openProcedures>;
