import {
  CallError,
  type FunctionId,
  functionIdSchema,
  type MessageOf,
  nameProblem,
  Payload,
  type TriggerTypeId,
  triggerTypeIdSchema,
} from "@svc-runtime/protocol";
import type { SessionAccess } from "../../access/session-access.ts";
import { refusalToBind, targetsOf } from "../../access/target-refusal.ts";
import type { IdOwnership } from "../id-ownership.ts";
import type { Registry } from "../registry.ts";
import type { Router } from "../router.ts";
import type { Session } from "../session.ts";
import { auditDenial } from "./admit-call.ts";

// This file checks the registrations of restricted connections. A registration is admitted unchanged, admitted with the
// changes of a hook, or rejected with a reason.

/** Timeout of a registration hook, in milliseconds. */
const HOOK_TIMEOUT_MS = 10_000;

type FunctionMessage = MessageOf<"registerfunction">;
type TriggerMessage = MessageOf<"registertrigger">;
type TriggerTypeMessage = MessageOf<"registertriggertype">;

export interface AdmitFunctionPorts {
  readonly router: Router;
  readonly ownership: IdOwnership;
}

export interface AdmitTriggerPorts {
  readonly router: Router;
  readonly registry: Registry;
}

/**
 * Checks the registration of a function. `add` receives it with the function's full id, which includes the prefix of
 * the connection. `add` returns whether the registration was accepted.
 */
export function admitFunction(
  message: FunctionMessage,
  access: SessionAccess,
  session: Session,
  { router, ownership }: AdmitFunctionPorts,
  add: (admitted: FunctionMessage) => boolean,
): void {
  const deny = denier(session, access, "registerfunction", message.id);
  if (!access.grants.mayRegisterFunctions) {
    deny("this connection may not register functions");
    return;
  }
  withHook(session, router, access.policy.onFunctionRegistration, functionHookInput(message, access), (answer) => {
    if (!answer.allowed) return deny(answer.reason);
    const named = functionIdSchema.safeParse(answer.fields.function_id ?? message.id);
    if (!named.success) return deny("the registration hook returned an invalid function_id");
    const id = access.withPrefix(named.data);
    const problem = nameProblem(id, "function id") ?? ownership.reservationProblem(id, session);
    if (problem !== undefined) return deny(problem);
    const description = typeof answer.fields.description === "string" ? answer.fields.description : message.description;
    const metadata = Object.hasOwn(answer.fields, "metadata") ? answer.fields.metadata : message.metadata;
    const before = access.functions.full(message.id);
    if (!add({ ...message, id, description, metadata })) return;
    access.functions.remember(message.id, id);
    // If the worker registers the function again, the hook may return another id for it than before.
    if (before !== undefined && before !== id) session.withdrawFunction(before);
  });
}

function functionHookInput(
  { id, description, metadata }: FunctionMessage,
  access: SessionAccess,
): Readonly<Record<string, unknown>> {
  return {
    function_id: id,
    description: description ?? null,
    metadata: metadata ?? null,
    context: access.grants.context,
  };
}

export function admitTriggerType(
  message: TriggerTypeMessage,
  access: SessionAccess,
  session: Session,
  router: Router,
  add: (admitted: TriggerTypeMessage) => boolean,
): void {
  const deny = denier(session, access, "registertriggertype", message.id);
  if (!access.grants.mayRegisterTriggerTypes) {
    deny("this connection may not register trigger types");
    return;
  }
  const input = { trigger_type_id: message.id, description: message.description, context: access.grants.context };
  withHook(session, router, access.policy.onTriggerTypeRegistration, input, (answer) => {
    if (!answer.allowed) return deny(answer.reason);
    const named = triggerTypeIdSchema.safeParse(answer.fields.trigger_type_id ?? message.id);
    if (!named.success) return deny("the registration hook returned an invalid trigger_type_id");
    const description = typeof answer.fields.description === "string" ? answer.fields.description : message.description;
    const before = access.triggerTypes.full(message.id as TriggerTypeId);
    // This must precede `add`: `add` sends waiting bindings to the worker at once, under the worker's name for the
    // type.
    access.triggerTypes.remember(message.id, named.data);
    if (!add({ ...message, id: named.data, description })) {
      access.triggerTypes.forget(named.data);
      return;
    }
    if (before !== undefined && before !== named.data) session.withdrawTriggerType(before);
  });
}

/**
 * Functions that an admitted trigger names. The trigger is checked again when one of these functions is registered,
 * because the function may then belong to another principal.
 */
export interface TargetWatch {
  readonly ids: readonly string[];
  /** Returns whether the trigger may stay. If not, sends the error to the trigger's connection. */
  mayStay(): boolean;
}

/** Checks the registration of a trigger. `refuse` sends the error in a `triggerregistrationresult`. */
export function admitTrigger(
  message: TriggerMessage,
  access: SessionAccess,
  session: Session,
  { router, registry }: AdmitTriggerPorts,
  outcome: {
    readonly add: (admitted: TriggerMessage, targets: TargetWatch) => void;
    readonly refuse: (error: CallError) => void;
  },
): void {
  const deny = (reason: string): void => {
    auditDenial(session, access, { action: "registertrigger", id: message.function_id, reason });
    outcome.refuse(new CallError("FORBIDDEN", reason));
  };
  const { triggerTypes, context } = access.grants;
  if (triggerTypes !== undefined && !triggerTypes.has(message.trigger_type)) {
    deny(`this connection may not use the trigger type ${message.trigger_type}`);
    return;
  }
  const { id, trigger_type, function_id, config, metadata } = message;
  const input = {
    trigger_id: id,
    trigger_type,
    function_id,
    config: config ?? null,
    metadata: metadata ?? null,
    context,
  };
  withHook(session, router, access.policy.onTriggerRegistration, input, (answer) => {
    if (!answer.allowed) return deny(answer.reason);
    const { fields } = answer;
    const type = triggerTypeIdSchema.safeParse(fields.trigger_type ?? trigger_type);
    const target = functionIdSchema.safeParse(fields.function_id ?? function_id);
    if (!type.success || !target.success)
      return deny("the registration hook returned an invalid trigger_type or function_id");
    const admitted: TriggerMessage = {
      ...message,
      trigger_type: type.data,
      function_id: access.fullFunctionId(target.data),
      config: Object.hasOwn(fields, "config") ? fields.config : config,
      metadata: Object.hasOwn(fields, "metadata") ? fields.metadata : metadata,
    };
    // Values that the hook returned are not checked, because the hook is trusted.
    const targets = {
      functionId: fields.function_id == null ? admitted.function_id : undefined,
      config: Object.hasOwn(fields, "config") ? undefined : config,
    };
    const mayStay = (): boolean => {
      const refusal = refusalToBind(targets, access, registry);
      if (refusal !== undefined) deny(refusal);
      return refusal === undefined;
    };
    if (mayStay()) outcome.add(admitted, { ids: targetsOf(targets), mayStay });
  });
}

type HookAnswer =
  | { readonly allowed: true; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly allowed: false; readonly reason: string };

const UNCHANGED: HookAnswer = { allowed: true, fields: {} };

/** Calls `proceed` at once if there is no hook. If there is one, later frames of the connection wait for its result. */
function withHook(
  session: Session,
  router: Router,
  hookId: string | undefined,
  input: Readonly<Record<string, unknown>>,
  proceed: (answer: HookAnswer) => void,
): void {
  if (hookId === undefined) proceed(UNCHANGED);
  else session.waitFor(askHook(router, hookId, input), proceed);
}

/**
 * Calls a registration hook. An object as result allows the registration and may rewrite fields. Any other result or a
 * failure denies it. Never rejects.
 */
async function askHook(router: Router, hookId: string, input: Readonly<Record<string, unknown>>): Promise<HookAnswer> {
  let value: unknown;
  try {
    const answer = await router.call(hookId as FunctionId, Payload.fromValue(input), {
      timeoutMs: HOOK_TIMEOUT_MS,
    });
    value = answer.value();
  } catch (thrown) {
    const { code, message } = CallError.from(thrown);
    return { allowed: false, reason: `${hookId} failed (${code}: ${message})` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { allowed: false, reason: `${hookId} did not allow it` };
  return { allowed: true, fields: value as Readonly<Record<string, unknown>> };
}

function denier(session: Session, access: SessionAccess, messageType: string, id: string): (reason: string) => void {
  return (reason) => {
    auditDenial(session, access, { action: messageType, id, reason });
    session.sendError(new CallError("FORBIDDEN", reason, { details: { message_type: messageType, id } }));
  };
}
