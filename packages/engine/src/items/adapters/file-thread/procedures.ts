// Runs in the store thread: nothing here imports more of the engine than the store and the items themselves.
import type { Database } from "../../../store/driver.ts";
import type { Gathering, ProcedureTable } from "../../../store/procedures.ts";
import { openChangeLog, openDeliveryProcedures } from "./deliveries.ts";
import { openListingProcedures } from "./listing.ts";
import { foldEmptyScopes, openScopeTable } from "./scope-table.ts";
import { openWriteProcedures } from "./writes.ts";

export { schema } from "./schema.ts";

export function openProcedures(database: Database, gather: (gathering: Gathering) => void) {
  foldEmptyScopes(database);
  const scopes = openScopeTable(database);
  gather(scopes);
  return {
    ...openWriteProcedures(database, scopes, openChangeLog(database)),
    ...openListingProcedures(database, scopes),
    ...openDeliveryProcedures(database),
  } satisfies ProcedureTable;
}

export type ItemProcedures = ReturnType<typeof openProcedures>;
