import { dirname, isAbsolute, join, resolve } from "node:path";
import type { ObservabilityConfig } from "./config.ts";

/** Parts of `max_disk_bytes` that the two files may take. What is left is for the logs that SQLite keeps beside them, and for what comes between two looks. */
export const SPANS_SHARE = 0.65;
export const LOGS_SHARE = 0.25;

type Storage = NonNullable<ObservabilityConfig["trace_storage"]>;

/** Where the files lie. A folder that is named is relative to the config file, beside which `.svc/data` lies. */
export function storageFolder({ directory }: Pick<Storage, "directory">, dataDir: string): string {
  if (directory === undefined) return join(dataDir, "observability");
  return isAbsolute(directory) ? directory : resolve(dirname(dirname(dataDir)), directory);
}
