import {
  CallError,
  FEATURES,
  type Feature,
  type FunctionId,
  type MessageOf,
  Payload,
  workerIntroductionSchema,
} from "@svc-runtime/protocol";
import type { Outcome } from "../call.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import type { Session } from "../session.ts";

/** Every SDK calls this function after each connect, to introduce the worker. */
export const REGISTER_WORKER = "engine::workers::register" as FunctionId;

const MAX_SHOWN_CHARACTERS = 280;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control and bidi characters is the purpose
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Introduces the worker before the next frame is read, because later frames may depend on the declared features. */
export function introduceWorker(
  message: MessageOf<"invokefunction">,
  session: Session,
  { changes }: { readonly changes: DirectoryChanges },
): Outcome {
  let value: unknown;
  try {
    value = message.data.value();
  } catch (thrown) {
    return { ok: false, error: CallError.from(thrown) };
  }
  const parsed = workerIntroductionSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const problem = `${REGISTER_WORKER}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? "malformed"}`;
    session.warn("a worker's introduction was refused", { problem });
    session.sendError(new CallError("invalid_input", problem));
    return { ok: false, error: new CallError("invalid_input", problem) };
  }
  const { name, description, runtime, version, os, pid, isolation, kind, features } = parsed.data;
  session.introduce(
    {
      name: shown(name ?? "") || session.workerId,
      description: description === undefined ? undefined : shown(description),
      runtime: shared(shown(runtime ?? "") || "unknown"),
      version: version === undefined ? undefined : shared(shown(version)),
      os: os === undefined ? undefined : shared(shown(os)),
      pid,
      isolation: isolation === undefined ? undefined : shared(shown(isolation)),
      // The console and the CLI are not listed, and their activity does not count as a worker's, so restricted
      // connections must not claim to be the console or the CLI.
      kind: session.principal.isTrusted ? (kind ?? "worker") : "worker",
    },
    featureSet(features ?? []),
  );
  changes.emit({ kind: "worker", id: session.workerId, op: "updated" });
  return { ok: true, result: Payload.fromValue({ success: true }) };
}

const MAX_SHARED_STRINGS = 1_000;
const sharedStrings = new Map<string, string>();

/** Returns one shared copy of a string that many workers send. At MAX_SHARED_STRINGS, the oldest one is forgotten. */
function shared(text: string): string {
  const known = sharedStrings.get(text);
  if (known !== undefined) return known;
  if (sharedStrings.size >= MAX_SHARED_STRINGS) sharedStrings.delete(sharedStrings.keys().next().value ?? "");
  sharedStrings.set(text, text);
  return text;
}

const featureSets = new Map<string, ReadonlySet<Feature>>();

/**
 * Returns one set for all connections with the same features: there are few combinations, but up to ten thousand
 * connections.
 */
function featureSet(features: readonly string[]): ReadonlySet<Feature> {
  const known = FEATURES.filter((feature) => features.includes(feature));
  const key = known.join();
  const shared = featureSets.get(key) ?? new Set(known);
  featureSets.set(key, shared);
  return shared;
}

/** Removes characters that could disturb terminals and pages, and limits the length. */
function shown(text: string): string {
  return text.replace(UNSHOWN, "").slice(0, MAX_SHOWN_CHARACTERS);
}
