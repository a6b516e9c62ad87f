// Runs in the store thread: nothing here imports more of the engine than the store and the items themselves.
import type { Database } from "../../../store/driver.ts";
import type { ProcedureTable } from "../../../store/procedures.ts";
import { openChangeLog, openDeliveryProcedures } from "./deliveries.ts";
import { openListingProcedures } from "./listing.ts";
import { openWriteProcedures } from "./writes.ts";

export { schema } from "./schema.ts";

/** Emptied scopes that are remembered one by one; what is beyond at the opening is remembered together. */
const MAX_EMPTY_SCOPES = 10_000;

export function openProcedures(database: Database) {
  foldEmptyScopes(database);
  return {
    ...openWriteProcedures(database, openChangeLog(database)),
    ...openListingProcedures(database),
    ...openDeliveryProcedures(database),
  } satisfies ProcedureTable;
}

export type ItemProcedures = ReturnType<typeof openProcedures>;

/** Keeps the table of scopes from growing with every scope that ever was. */
function foldEmptyScopes(database: Database): void {
  const empty = Number(database.prepare("SELECT count(*) AS empty FROM scopes WHERE items = 0").get()?.empty);
  if (empty <= MAX_EMPTY_SCOPES) return;
  database.exec(`BEGIN IMMEDIATE;
    UPDATE shared_floor SET version = max(version, (SELECT max(floor) FROM scopes WHERE items = 0));
    DELETE FROM scopes WHERE items = 0;
    COMMIT`);
}
