import type { Shell } from "../shell.ts";
import { dayAndTime } from "../terminal/times.ts";
import { escapeUnprintable, printable, stackLines } from "./log-lines.ts";

/** Log entry of the engine's store, with the members that commands use. */
export interface StoredLog {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly severity_number: number;
  readonly severity_text: string;
  readonly fatal?: true;
  readonly body: string;
  readonly service_name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly trace_id: string | null;
  /** Engine of the cluster that stores it. */
  readonly node?: string;
}

/** Attributes that are not shown, because svc adds them or the line shows their content in another way. */
const HIDDEN = /^(?:svc\.|service\.|log\.|code\.)/;
const SERVICE_COLORS = ["cyan", "magenta", "blue", "green"] as const;

/** Returns true for an attribute that matches `HIDDEN`. */
export function isAddedBySvc(attribute: string): boolean {
  return HIDDEN.test(attribute);
}

const STACK = "exception.stacktrace";
/** Attributes that are not shown if there is a stack, because the stack contains them. */
const IN_STACK = ["exception.type", "exception.message"];

/**
 * Formats a log entry: time, level, service, message, and attributes as `name=value`. Further lines of the message and
 * a stack are below.
 */
export function storedLogLine(entry: StoredLog, paint: Shell["paint"]): string {
  const [first = "", ...more] = entry.body.trimEnd().split("\n").map(escapeUnprintable);
  const { [STACK]: stack, ...attributes } = entry.attributes;
  const stackText = typeof stack === "string" ? stack : "";
  const isShown = (name: string, value: unknown): boolean =>
    isAddedBySvc(name) ||
    (name === "worker" && value === entry.service_name) ||
    (IN_STACK.includes(name) && stackText.includes(String(value)));
  const fields = Object.entries(attributes)
    .filter(([name, value]) => !isShown(name, value))
    .map(([name, value]) => `${paint.dim(`${escapeUnprintable(name)}=`)}${printable(value)}`);
  const trace = entry.trace_id === null ? [] : [paint.dim(`trace=${entry.trace_id.slice(0, 12)}`)];
  const node = entry.node === undefined ? [] : [paint.dim(`node=${escapeUnprintable(entry.node)}`)];
  const service = paint[colorOf(entry.service_name)](escapeUnprintable(entry.service_name));
  const head = [
    paint.dim(dayAndTime(entry.timestamp_ms)),
    levelOf(entry, paint),
    service,
    first,
    ...fields,
    ...trace,
    ...node,
  ].join(" ");
  return [head, ...more.map((line) => `    ${line}`), ...(stackText === "" ? [] : stackLines(stackText))].join("\n");
}

function levelOf({ severity_text, fatal }: StoredLog, paint: Shell["paint"]): string {
  const name = fatal ? "fatal" : severity_text.toLowerCase();
  const color = { trace: paint.dim, debug: paint.dim, info: paint.green, warn: paint.yellow }[name] ?? paint.red;
  return color(name.padEnd(5));
}

/** Returns the same colour for the same service. */
function colorOf(service: string): (typeof SERVICE_COLORS)[number] {
  let sum = 0;
  for (const character of service) sum += character.codePointAt(0) ?? 0;
  return SERVICE_COLORS[sum % SERVICE_COLORS.length] ?? "cyan";
}
