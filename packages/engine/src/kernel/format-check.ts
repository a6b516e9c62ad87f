import type { CallError, Payload } from "@svc/protocol";
import type { Principal } from "./access/principal.ts";

/** Checks values by a format that a worker registered. */
export interface FormatCheck {
  /** False while nobody asks for it; then `problemOf` is not called. Read at each call, since the config may change. */
  isOn(): boolean;
  /** Why the format cannot be enforced. Undefined when it can, or while nobody has asked for it. */
  readonly problem: string | undefined;
  /** Why the payload does not fit, or undefined. `what` opens the sentence, e.g. a function's id. */
  problemOf(payload: Payload, what: string): CallError | undefined;
}

export interface FormatRequest {
  readonly format: unknown;
  /** Whether the registration asked: true and false are its word; undefined leaves it to the engine's setting. */
  readonly wanted: boolean | undefined;
  /** Who registers it. The formats of a restricted one share a budget of time. */
  readonly principal: Principal;
}

/** Makes checks of formats. The kernel knows no schema language; the engine brings one. */
export interface FormatChecks {
  /** Undefined when there is nothing to check by. Never throws: a format that cannot be used is a check with a problem. */
  checkFor(request: FormatRequest): FormatCheck | undefined;
}

/** Where nothing is ever checked. */
export const noFormatChecks: FormatChecks = { checkFor: () => undefined };
