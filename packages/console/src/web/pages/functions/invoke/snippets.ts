import { t } from "../../../labels/translate.ts";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "../../../lib/json.ts";
import { quotedWord } from "../../../lib/shell-word.ts";
import { type Draft, invokeBody } from "./request.ts";

export interface Addresses {
  /** Address for HTTP, for example `http://127.0.0.1:3111`. */
  readonly http: string;
  /** Address of the bridge, for example `ws://127.0.0.1:49134`. */
  readonly bridge: string;
}

export interface Snippet {
  readonly name: "curl" | "CLI" | "TypeScript" | "Python";
  readonly text: string;
  /** Text that says how the snippet differs from the call. */
  readonly note?: string;
}

/** Returns commands and programs that make the same call as the draft. The draft must be valid. */
export function snippets(functionId: string, draft: Draft, addresses: Addresses): readonly Snippet[] {
  return [
    curl(functionId, draft, addresses),
    cli(functionId, draft, addresses),
    typescript(functionId, draft, addresses),
    python(functionId, draft, addresses),
  ];
}

function curl(functionId: string, draft: Draft, { http }: Addresses): Snippet {
  return {
    name: "curl",
    text: `curl -sS -X POST ${quotedWord(`${http}/_console/invoke`)} \\\n  -H 'content-type: application/json' \\\n  --data-raw ${quotedWord(invokeBody(functionId, draft))}`,
  };
}

function cli(functionId: string, draft: Draft, { bridge }: Addresses): Snippet {
  const isJob = draft.mode === "enqueue";
  const id = isJob ? "queue::enqueue" : functionId;
  const payload = isJob
    ? `{"queue":${JSON.stringify(draft.queue.trim())},"function_id":${JSON.stringify(functionId)},"data":${draft.payload.trim()}}`
    : draft.payload.trim();
  const parts = [`svc trigger --function-id=${quotedWord(id)}`, `--payload=${quotedWord(payload)}`];
  if (draft.timeoutMs !== "") parts.push(`--timeout-ms ${draft.timeoutMs}`);
  parts.push(`--url ${quotedWord(bridge)}`);
  const differences = [
    draft.mode === "void" ? t`svc trigger waits for the result` : undefined,
    draft.metadata.trim() === "" ? undefined : t`svc trigger sends no metadata`,
  ];
  const note = differences.filter((part) => part !== undefined).join("; ");
  return { name: "CLI", text: parts.join(" \\\n  "), ...(note === "" ? {} : { note }) };
}

const METHODS = {
  typescript: { sync: "call", void: "callVoid", enqueue: "enqueue" },
  python: { sync: "call", void: "call_void", enqueue: "enqueue" },
} as const;

function typescript(functionId: string, draft: Draft, { bridge }: Addresses): Snippet {
  const payload = parseJson(draft.payload);
  const isExact = draft.mode !== "sync" || survivesJavaScript(payload);
  const method = isExact ? METHODS.typescript[draft.mode] : "callJson";
  // JSON is also a JavaScript literal with the same value, with two exceptions: members named __proto__, and numbers
  // that a double cannot hold.
  const value = isExact ? formatJson(payload) : JSON.stringify(draft.payload.trim());
  const members = [
    `function_id: ${JSON.stringify(functionId)}`,
    ...(draft.mode === "enqueue" ? [`queue: ${JSON.stringify(draft.queue.trim())}`] : []),
    `payload: ${indent(value, 2)}`,
    ...(draft.timeoutMs === "" || draft.mode === "enqueue" ? [] : [`timeoutMs: ${draft.timeoutMs}`]),
    ...(draft.metadata.trim() === "" ? [] : [`metadata: ${indent(formatJson(parseJson(draft.metadata)), 2)}`]),
  ];
  const text = `import { connect } from "@svc-runtime/sdk";

const worker = connect(${JSON.stringify(bridge)}, { kind: "cli" });
console.log(
  await worker.${method}({
    ${members.map((member) => indent(member, 2)).join(",\n    ")},
  }),
);
await worker.shutdown();
`;
  const note = draft.mode !== "sync" && !survivesJavaScript(payload) ? t`numbers beyond 2^53 are rounded` : undefined;
  return { name: "TypeScript", text, ...(note === undefined ? {} : { note }) };
}

function python(functionId: string, draft: Draft, { bridge }: Addresses): Snippet {
  const members = [
    `"function_id": ${pythonValue(functionId)}`,
    ...(draft.mode === "enqueue" ? [`"queue": ${pythonValue(draft.queue.trim())}`] : []),
    `"payload": ${pythonValue(parseJson(draft.payload))}`,
    ...(draft.timeoutMs === "" || draft.mode === "enqueue" ? [] : [`"timeout_ms": ${draft.timeoutMs}`]),
    ...(draft.metadata.trim() === "" ? [] : [`"metadata": ${pythonValue(parseJson(draft.metadata))}`]),
  ];
  const text = `import svc

worker = svc.connect(${pythonValue(bridge)}, kind="cli")
print(
    worker.${METHODS.python[draft.mode]}({
        ${members.map((member) => indent(member, 4)).join(",\n        ")},
    })
)
worker.shutdown()
`;
  return { name: "Python", text };
}

/** Returns a JSON value as a Python expression. */
export function pythonValue(value: JsonValue, depth = 1): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  // JSON's escape sequences are valid in Python.
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return String(value);
  if (isBigNumber(value)) return value.value;
  const inner = "    ".repeat(depth);
  const outer = "    ".repeat(depth - 1);
  if (Array.isArray(value))
    return value.length === 0
      ? "[]"
      : `[\n${value.map((item) => `${inner}${pythonValue(item, depth + 1)},\n`).join("")}${outer}]`;
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  return `{\n${entries.map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonValue(item, depth + 1)},\n`).join("")}${outer}}`;
}

function survivesJavaScript(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (isBigNumber(value))
    return Number.isInteger(Number(value.value))
      ? Number.isSafeInteger(Number(value.value))
      : Number.isFinite(Number(value.value));
  return Object.entries(value).every(([name, member]) => name !== "__proto__" && survivesJavaScript(member));
}

function indent(text: string, by: number): string {
  return text.replaceAll("\n", `\n${" ".repeat(by)}`);
}
