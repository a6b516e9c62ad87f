import {
  encodeMessage,
  type FunctionId,
  type MessageOf,
  type TriggerId,
  type TriggerTypeId,
} from "@svc-runtime/protocol/client";
import { nameRefusal } from "../refusals.ts";
import type { WireHttpFunction } from "./http-function.ts";

export interface FunctionRegistration {
  readonly id: string;
  readonly description?: string | undefined;
  /** JSON Schema of the payload. */
  readonly request_format?: unknown;
  /** JSON Schema of the result. */
  readonly response_format?: unknown;
  readonly metadata?: unknown;
  readonly timeout_ms?: number | undefined;
  readonly validate?: boolean | undefined;
  /** Present if the engine calls the function over HTTP. */
  readonly invocation?: WireHttpFunction | undefined;
}

export interface TriggerRegistration {
  readonly id: string;
  readonly type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly metadata?: unknown;
}

export interface TriggerTypeRegistration {
  readonly id: string;
  readonly description: string;
  readonly trigger_request_format?: unknown;
  readonly call_request_format?: unknown;
  readonly validate?: boolean | undefined;
}

type Kind = "functions" | "triggers" | "types";
const NOUN = { functions: "function id", triggers: "trigger id", types: "trigger type" } as const satisfies Record<
  Kind,
  string
>;

/**
 * The registrations of this worker, as frames. When a connection opens, all are sent in this order: types, functions,
 * triggers.
 */
export class Registrations {
  readonly #frames: Record<Kind, Map<string, string>> = { types: new Map(), functions: new Map(), triggers: new Map() };

  /**
   * Adds a function. Returns the frame to send.
   *
   * @throws TypeError in two cases: an id is invalid or already registered; JSON cannot represent a value.
   */
  addFunction(registration: FunctionRegistration): string {
    const message = { type: "registerfunction", ...registration } as MessageOf<"registerfunction">;
    return this.#add("functions", registration.id, message);
  }

  addTriggerType(registration: TriggerTypeRegistration): string {
    const message = { type: "registertriggertype", ...registration } as MessageOf<"registertriggertype">;
    return this.#add("types", registration.id, message);
  }

  addTrigger(registration: TriggerRegistration): string {
    const { id, type, function_id, config, metadata } = registration;
    requireName(type, "trigger type");
    requireName(function_id, "function id");
    return this.#add("triggers", id, {
      type: "registertrigger",
      id: id as TriggerId,
      trigger_type: type as TriggerTypeId,
      function_id: function_id as FunctionId,
      config: config ?? null,
      metadata,
    });
  }

  #add(kind: Kind, id: string, message: Parameters<typeof encodeMessage>[0]): string {
    requireName(id, NOUN[kind]);
    if (this.#frames[kind].has(id))
      throw new TypeError(`${NOUN[kind]} ${id} is already registered by this worker; unregister it first`);
    let frame: string;
    try {
      frame = encodeMessage(message);
    } catch (cause) {
      throw new TypeError(
        `the registration of ${NOUN[kind]} ${id} cannot be written as JSON: ${(cause as Error).message}`,
        { cause },
      );
    }
    this.#frames[kind].set(id, frame);
    return frame;
  }

  has(kind: Kind, id: string): boolean {
    return this.#frames[kind].has(id);
  }

  /** Removes a registration. Returns false if it did not exist. */
  remove(kind: Kind, id: string): boolean {
    return this.#frames[kind].delete(id);
  }

  functionIds(): readonly string[] {
    return [...this.#frames.functions.keys()];
  }

  replay(): readonly string[] {
    return [...this.#frames.types.values(), ...this.#frames.functions.values(), ...this.#frames.triggers.values()];
  }
}

function requireName(name: unknown, what: string): void {
  const problem = nameRefusal(name, what);
  if (problem !== undefined) throw new TypeError(problem);
}
