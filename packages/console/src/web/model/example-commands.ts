import { t } from "../labels/translate.ts";
// Commands and programs that the console shows. The guide (docs/guide/console.md) contains the same ones as samples,
// and a test runs these.

/** The engine's address, and the version of the SDK packages in the `sdk/` folder of a project. */
export interface Place {
  /** `ws://` URL of the SDK bridge. */
  readonly bridge: string;
  readonly version: string;
}

export type Language = "typescript" | "python";

export interface Step {
  readonly title: string;
  /** Commands or programs. Each is shown as a block of its own, because it needs the result of the block before it. */
  readonly blocks: readonly string[];
}

export const DEFAULT_PLACE: Place = { bridge: "ws://localhost:49134", version: "0.1.0" };

/** Returns the place for an engine. Its default address is written in the same form as in the guide. */
export function placeOf(bridge: string, version: string): Place {
  return { bridge: isDefault(bridge) ? DEFAULT_PLACE.bridge : bridge, version };
}

/** Returns the steps that connect a first worker and call its function. */
export function firstWorker(language: Language, place: Place): readonly Step[] {
  const [install, program, start] =
    language === "python"
      ? [`pip install --find-links sdk svc-runtime==${place.version}+project`, pythonWorker(place), "python worker.py"]
      : [`npm install ./sdk/svc-runtime-sdk-${place.version}.tgz`, typescriptWorker(place), "node worker.mjs"];
  return [
    { title: t`In the project's folder, install the SDK`, blocks: [install] },
    { title: language === "python" ? t`Write a worker, worker.py` : t`Write a worker, worker.mjs`, blocks: [program] },
    { title: t`Start it, and call it from a second terminal`, blocks: [start, greet(place)] },
  ];
}

export function typescriptWorker({ bridge }: Place): string {
  return `import { connect } from "@svc-runtime/sdk";

const worker = connect("${bridge}", { name: "hello-worker" });

worker.registerFunction("hello::greet", async ({ name }) => ({ text: \`Hello \${name}\` }), {
  description: "Greets by name",
});`;
}

function pythonWorker({ bridge }: Place): string {
  return `import svc

worker = svc.connect("${bridge}", name="hello-worker")

@worker.function("hello::greet", description="Greets by name")
def greet(payload):
    return {"text": f"Hello {payload['name']}"}

worker.run()`;
}

/** Returns the command that calls the function of the first worker. */
export function greet(place: Place): string {
  return trigger("hello::greet", `{"name": "you"}`, place);
}

export function writeLog(place: Place): string {
  return trigger("engine::log::info", `{"message": "Hello", "service_name": "me", "data": {"answer": 42}}`, place);
}

export function sendToStream(place: Place): string {
  return trigger(
    "stream::send",
    `{"stream_name": "chat", "group_id": "room-1", "type": "hello", "data": {"text": "Hi"}}`,
    place,
  );
}

export function setState(place: Place): string {
  return trigger("state::set", `{"scope": "users", "key": "ada", "value": {"role": "admin"}}`, place);
}

export const ENABLE_FLOW = "svc console --enable-flow";

/**
 * Returns a command that calls a function. It contains the engine's address only if `svc` would not find the engine by
 * itself.
 */
function trigger(functionId: string, payload: string, { bridge }: Place): string {
  const parts = [`svc trigger --function-id=${functionId}`, `--payload='${payload}'`];
  if (!isDefault(bridge)) parts.push(`--url ${bridge}`);
  return parts.join(" \\\n  ");
}

function isDefault(bridge: string): boolean {
  return /^ws:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):49134\/?$/.test(bridge);
}
