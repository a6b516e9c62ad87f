import {
  CallError,
  type Caller,
  MAX_PAYLOAD_DEPTH,
  nearestName,
  nestsDeeperThan,
  Payload,
} from "@svc-runtime/protocol";
import type { z } from "zod";
import { type Principal, TRUSTED } from "../access/principal.ts";
import type { CallerAccess } from "./access-contract.ts";
import type { Call, Provider, Refusal } from "./call.ts";
import { providerGone } from "./call-errors.ts";
import { type CallerAccessPorts, callerAccess } from "./caller-access.ts";
import { describeIssues } from "./describe-issues.ts";
import { schemaOf } from "./lazy-schema.ts";
import type { Logger } from "./logger.ts";
import type { FunctionSpec, HandlerContext } from "./module.ts";
import { publishedResult } from "./published-results.ts";
import { keepRawMembers, type RawMembers, rawMembersOf } from "./raw-members.ts";
import type { Router } from "./router.ts";

/** Maximum number of unknown members that are checked for typos. A payload with more of them has other problems. */
const MAX_CHECKED = 50;
/** Maximum number of calls in flight in one module. */
const MAX_CALLS_HELD = 10_000;

export interface ModuleProviderPorts extends CallerAccessPorts {
  readonly router: Router;
}

/** Used instead of a session if the caller is a module or the engine, because these have no session. */
const ENGINE = { principal: TRUSTED, isPublishedClient: false };

interface ProvidedFunction {
  readonly spec: FunctionSpec<unknown>;
  readonly rawMembers: RawMembers | undefined;
}

/**
 * A call that a module's handler runs, as the handler sees it. Few handlers read `signal`, and creating one takes a tenth
 * of the time of a call, so it is created at the first read.
 */
class RunningCall implements HandlerContext {
  readonly caller: Caller | undefined;
  readonly access: CallerAccess | undefined;
  readonly principal: Principal;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  #controller: AbortController | undefined;
  #abortedBy: CallError | undefined;

  constructor({ caller, traceparent, baggage }: Call, access: CallerAccess | undefined, principal: Principal) {
    this.caller = caller;
    this.access = access;
    this.principal = principal;
    this.traceparent = traceparent;
    this.baggage = baggage;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  abort(reason: CallError): void {
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
  }
}

/** Runs the functions of one module. The counterpart of a worker's session, without a socket. */
export class ModuleProvider implements Provider {
  readonly workerId: string;
  readonly name: string;
  readonly builtIn = true;
  readonly isStandby = false;
  readonly principal = TRUSTED;
  readonly #log: Logger;
  readonly #ports: ModuleProviderPorts;
  readonly #functions = new Map<string, ProvidedFunction>();
  readonly #running = new Map<Call, RunningCall>();
  #stopped = false;

  constructor(name: string, log: Logger, ports: ModuleProviderPorts) {
    this.name = name;
    this.workerId = moduleWorkerId(name);
    this.#log = log;
    this.#ports = ports;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  get functionIds(): readonly string[] {
    return [...this.#functions.keys()];
  }

  add(spec: FunctionSpec<unknown>): () => void {
    this.#functions.set(spec.id, { spec, rawMembers: spec.rawMembers && rawMembersOf(spec.rawMembers) });
    return () => {
      if (this.#functions.get(spec.id)?.spec === spec) this.#functions.delete(spec.id);
    };
  }

  isPolled(functionId: string): boolean {
    return this.#functions.get(functionId)?.spec.polled === true;
  }

  refusal(): Refusal | undefined {
    if (this.#stopped) return "draining";
    return this.#running.size >= MAX_CALLS_HELD ? "overloaded" : undefined;
  }

  deliver(call: Call): CallError | undefined {
    const provided = this.#functions.get(call.functionId);
    if (provided === undefined) return new CallError("function_not_found", `Function ${call.functionId} not found`);
    const input = parseInput(provided, call.payload);
    if (CallError.is(input)) return input;
    const caller =
      call.caller === undefined || isModule(call.caller.worker_id)
        ? ENGINE
        : this.#ports.sessions.byId(call.caller.worker_id);
    if (caller === undefined) return new CallError("call_cancelled", "the caller's connection has ended");
    const access = call.caller === undefined ? undefined : callerAccess(call.caller.worker_id, this.#ports);
    const context = new RunningCall(call, access, call.onBehalfOf ?? caller.principal);
    this.#running.set(call, context);
    void this.#run(call, () => provided.spec.handle(input.value, context), caller.isPublishedClient);
    return undefined;
  }

  withdraw(call: Call, reason: string): void {
    this.#running.get(call)?.abort(new CallError("call_cancelled", reason));
  }

  release(call: Call): void {
    this.#running.delete(call);
  }

  /** Fails all calls in flight. */
  stop(): void {
    this.#stopped = true;
    for (const call of [...this.#running.keys()]) {
      this.withdraw(call, "the module stopped");
      this.#ports.router.settle(call, providerGone(call));
    }
  }

  async #run(call: Call, handle: () => unknown, isForPublishedClient: boolean): Promise<void> {
    try {
      const handled = await handle();
      const result = handled instanceof Payload ? handled : Payload.fromValue(handled);
      this.#ports.router.settle(call, {
        ok: true,
        result: isForPublishedClient ? publishedResult(call.functionId, result) : result,
        traceparent: call.traceparent,
        baggage: call.baggage,
      });
    } catch (thrown) {
      const error = CallError.from(thrown);
      if (!CallError.is(thrown))
        this.#log.error("a function of the engine failed", { functionId: call.functionId, error: thrown });
      this.#ports.router.settle(call, { ok: false, error });
    }
  }
}

const MODULE_ID_OPENING = "module:";

export function moduleWorkerId(name: string): string {
  return MODULE_ID_OPENING + name;
}

/** Returns whether the worker id is the id of a module. */
export function isModule(workerId: string): boolean {
  return workerId.startsWith(MODULE_ID_OPENING);
}

function parseInput(provided: ProvidedFunction, payload: Payload): { readonly value: unknown } | CallError {
  const { spec } = provided;
  let value: unknown;
  try {
    value = readInput(payload, provided);
  } catch (thrown) {
    return CallError.from(thrown);
  }
  const schema = schemaOf(spec.input);
  let parsed = schema.safeParse(value);
  if (!parsed.success) {
    const asked = withoutExtras(value);
    if (asked !== value) parsed = schema.safeParse(asked);
  }
  const misspelt = parsed.success && spec.refusesMisspelt === true ? misspeltMembers(schema, value) : undefined;
  if (misspelt !== undefined)
    return new CallError("invalid_input", `${spec.id}: the payload: ${misspelt}`, {
      details: { function_id: spec.id },
    });
  if (parsed.success) return { value: parsed.data };
  // A call without a payload is parsed like `{}`. This succeeds if no member of the payload is required.
  const defaults = value === null ? schema.safeParse({}) : undefined;
  if (defaults?.success) return { value: defaults.data };
  return new CallError(
    "invalid_input",
    `${spec.id}: ${describeIssues(parsed.error, { whole: "the payload", schema, value })}`,
    {
      details: { function_id: spec.id },
    },
  );
}

/**
 * Removes members whose names begin with `_`, because clients add such members to payloads, e.g. `_caller_worker_id`.
 * No function defines a member with such a name.
 */
function withoutExtras(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  const own = entries.filter(([name]) => !name.startsWith("_"));
  // The member `__proto__`, which would need special care, is left out too, because its name begins with `_`.
  return own.length === entries.length ? value : Object.fromEntries(own);
}

function readInput(payload: Payload, { spec: { id }, rawMembers }: ProvidedFunction): unknown {
  const value = payload.value();
  const isNested = typeof value === "object" && value !== null;
  // Handlers may read a value recursively, and the depth of an unparsed payload has not been checked before.
  if (isNested && nestsDeeperThan(payload.text(), MAX_PAYLOAD_DEPTH)) {
    throw new CallError("invalid_input", `${id}: the payload is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`, {
      details: { function_id: id, limit: MAX_PAYLOAD_DEPTH },
    });
  }
  return isNested && rawMembers !== undefined ? keepRawMembers(payload.text(), value, rawMembers) : value;
}

/**
 * Returns one clause for each member of `value` that `schema` does not define and whose name is close to a defined one.
 * Returns undefined if there is no such member.
 */
function misspeltMembers(schema: z.ZodType, value: unknown): string | undefined {
  const shape = (schema as { readonly shape?: object }).shape;
  if (shape === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const clauses: string[] = [];
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name) && !name.startsWith("_"));
  for (const name of unknown.slice(0, MAX_CHECKED)) {
    const meant = nearestName(name, Object.keys(shape));
    if (meant !== undefined) clauses.push(`unknown member \`${name}\`; did you mean ${meant}?`);
  }
  return clauses.length === 0 ? undefined : clauses.join("; ");
}
