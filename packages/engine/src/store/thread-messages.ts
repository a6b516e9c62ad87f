import type { StoreDurability } from "../kernel/store-contract.ts";
import type { DriverName } from "./driver.ts";
import type { BatchTime } from "./log-time.ts";

/** Data that the thread is started with. */
export interface ThreadStart {
  /** Absolute path of the database. */
  readonly file: string;
  /** URL of the compiled file of procedures. */
  readonly procedures: string;
  readonly driver: DriverName;
  readonly durability: StoreDurability;
  readonly isBackground: boolean;
}

export interface Request {
  readonly procedure: string;
  readonly input: unknown;
}

/**
 * Result of a request. `failed`: the request was not executed. If `isUnclear` is set, its write may be stored
 * nevertheless.
 */
export type Answer =
  | { readonly status: "done"; readonly output: unknown }
  | {
      readonly status: "refused";
      readonly code: string;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>> | undefined;
    }
  | { readonly status: "failed"; readonly message: string; readonly isUnclear?: true };

export type ToThread =
  | { readonly kind: "batch"; readonly requests: readonly Request[]; readonly time: BatchTime }
  | { readonly kind: "close"; readonly time: BatchTime };

export type FromThread =
  /**
   * `damage` describes lost data that was detected on opening. If `wasUnclean`, the content should be checked. `writes`
   * are the names of the procedures that write.
   */
  | {
      readonly kind: "open";
      readonly wasUnclean: boolean;
      readonly damage: string | undefined;
      readonly writes: readonly string[];
      /** The stored log time. */
      readonly time: BatchTime | undefined;
    }
  | { readonly kind: "refused"; readonly message: string }
  /**
   * Answers in the order of the requests. If the answers are large, only the first requests have one; the others were
   * not started.
   */
  | { readonly kind: "answers"; readonly answers: readonly Answer[] }
  /** Sent when the store's problem changes. Undefined means that the store can write. */
  | { readonly kind: "health"; readonly problem: string | undefined }
  /**
   * The database was written to a new file, which the next thread opens. This thread ends and starts no further
   * request.
   */
  | { readonly kind: "renewed" }
  /** `problem` is set if the checkpoint failed. Nothing is lost then, because the next start reads the log. */
  | { readonly kind: "closed"; readonly problem: string | undefined };
