import type { StoreDurability } from "./database-file.ts";
import type { DriverName } from "./driver.ts";

/** Given to the thread when it starts. */
export interface ThreadStart {
  /** Absolute path of the database. */
  readonly file: string;
  /** URL of the file of procedures, as JavaScript. */
  readonly procedures: string;
  readonly driver: DriverName;
  readonly durability: StoreDurability;
}

export interface Request {
  readonly procedure: string;
  readonly input: unknown;
}

/** How one request ended. `failed`: the store could not do it, and nothing of it is written, unless it `isUnclear`: the disk failed, and may have it all the same. */
export type Answer =
  | { readonly status: "done"; readonly output: unknown }
  | { readonly status: "refused"; readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> | undefined }
  | { readonly status: "failed"; readonly message: string; readonly isUnclear?: true };

export type ToThread = { readonly kind: "batch"; readonly requests: readonly Request[] } | { readonly kind: "close" };

export type FromThread =
  /** `damage`: what was found to be lost. After an unclean stop the content is worth a thorough check. */
  | { readonly kind: "open"; readonly wasUnclean: boolean; readonly damage: string | undefined }
  | { readonly kind: "refused"; readonly message: string }
  /** In the order of the requests; when they are large, of the first of them, and the others were not begun. */
  | { readonly kind: "answers"; readonly answers: readonly Answer[] }
  /** Whether the store can write; sent on each change. Undefined means that it can again. */
  | { readonly kind: "health"; readonly problem: string | undefined }
  /** The database was written to a new file, which the next thread uses. This one ends, and begins none of the requests that follow. */
  | { readonly kind: "renewed" }
  /** `problem`: the log could not be written back into the file; nothing is lost, the next start reads it from the log. */
  | { readonly kind: "closed"; readonly problem: string | undefined };
