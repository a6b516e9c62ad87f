import { isUuid, type MessageOf, nameProblem } from "@svc-runtime/protocol/client";
import { isObject } from "../is-object.ts";

// Reads messages of the engine other than calls and results. They are checked here by hand instead of by the protocol's
// schemas. The reason: a page that bundles this package would otherwise bundle the schema library too.
// control-messages.test.ts compares these checks with the schemas.

type ControlType =
  | "workerregistered"
  | "cancelinvocation"
  | "registertrigger"
  | "unregistertrigger"
  | "triggerregistrationresult"
  | "error"
  | "ping"
  | "pong";

export type ControlMessage = { [Type in ControlType]: MessageOf<Type> }[ControlType];

const INVALID = Symbol("invalid");
/** Returns the value in the same form as the protocol's schema does, or `INVALID`. */
type Reader = (value: unknown) => unknown;

const any: Reader = (value) => value;
const text: Reader = (value) => (typeof value === "string" ? value : INVALID);
const name: Reader = (value) => (typeof value === "string" && nameProblem(value, "") === undefined ? value : INVALID);
const uuid: Reader = (value) => (typeof value === "string" && isUuid(value) ? value : INVALID);
const status: Reader = (value) => (value === "active" || value === "inactive" || value === "error" ? value : INVALID);
const record: Reader = (value) => (isObject(value) ? value : INVALID);

/** Accepts null and undefined. On the wire, null means that the member is absent. */
function optional(reader: Reader): Reader {
  return (value) => (value === undefined || value === null ? undefined : reader(value));
}

function object(fields: Readonly<Record<string, Reader>>): Reader {
  return (value) => {
    if (!isObject(value)) return INVALID;
    const members: Record<string, unknown> = {};
    for (const [member, reader] of Object.entries(fields)) {
      members[member] = reader(value[member]);
      if (members[member] === INVALID) return INVALID;
    }
    return members;
  };
}

const wireError = object({ code: text, message: text, stacktrace: optional(text), details: optional(record) });

const FIELDS: {
  readonly [Type in ControlType]: { readonly [Member in Exclude<keyof MessageOf<Type>, "type">]: Reader };
} = {
  workerregistered: {
    worker_id: text,
    reattach_token: optional(text),
    engine: optional(object({ version: text, instance_id: text })),
  },
  cancelinvocation: { invocation_id: uuid, reason: optional(text) },
  registertrigger: { id: name, trigger_type: name, function_id: name, config: any, metadata: optional(any) },
  unregistertrigger: { id: name, trigger_type: optional(text) },
  triggerregistrationresult: {
    id: name,
    trigger_type: text,
    function_id: text,
    error: optional(wireError),
    status: optional(status),
    reason: optional(text),
  },
  error: { error: wireError },
  ping: {},
  pong: {},
};

export function isControlType(type: unknown): type is ControlType {
  return typeof type === "string" && Object.hasOwn(FIELDS, type);
}

/** Returns the message, or a text that says why it is malformed. */
export function readControlMessage(
  type: ControlType,
  members: Readonly<Record<string, unknown>>,
): ControlMessage | string {
  const message: Record<string, unknown> = { type };
  for (const [member, reader] of Object.entries(FIELDS[type] as Readonly<Record<string, Reader>>)) {
    const value = reader(members[member]);
    if (value === INVALID)
      return `${type}: \`${member}\` ${members[member] === undefined ? "is missing" : "is invalid"}`;
    message[member] = value;
  }
  return message as ControlMessage;
}
