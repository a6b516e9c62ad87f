import type { CallError, Payload } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";

/** Validates values against a format that a worker registered. */
export interface FormatCheck {
  /**
   * Returns false while validation is not requested; then `problemOf` must not be called. Read at each call, because
   * the config may change.
   */
  isOn(): boolean;
  /** Why the format cannot be enforced. Undefined if it can be enforced, or while enforcement is not requested. */
  readonly problem: string | undefined;
  /** Returns why the payload does not match, or undefined. `what` begins the message, e.g. a function's id. */
  problemOf(payload: Payload, what: string): CallError | undefined;
}

export interface FormatRequest {
  readonly format: unknown;
  /** Whether the registration requests validation. If undefined, the engine's setting applies. */
  readonly wanted: boolean | undefined;
  /** The principal that registers the format. All formats of a restricted principal share a time budget. */
  readonly principal: Principal;
}

/** Creates format checks. The kernel knows no schema language; the engine provides one. */
export interface FormatChecks {
  /** Returns undefined if there is no format. Never throws: an unusable format gives a check with a problem. */
  checkFor(request: FormatRequest): FormatCheck | undefined;
}

/** Checks nothing. */
export const noFormatChecks: FormatChecks = { checkFor: () => undefined };
