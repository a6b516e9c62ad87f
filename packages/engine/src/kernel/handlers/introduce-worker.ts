import { CallError, FEATURES, type Feature, type FunctionId, type MessageOf, Payload, workerIntroductionSchema } from "@svc/protocol";
import type { Outcome } from "../call.ts";
import type { Kernel } from "../kernel.ts";
import type { Session } from "../session.ts";

/** What every SDK calls after each connect, to say who it is. */
export const REGISTER_WORKER = "engine::workers::register" as FunctionId;

const MAX_SHOWN_CHARACTERS = 280;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control and bidi characters is the purpose
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Takes effect before the next frame of the connection is read: what follows may depend on the declared features. */
export function introduceWorker(message: MessageOf<"invokefunction">, session: Session, kernel: Kernel): Outcome {
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
      // The console and the CLI are left out of listings, and what they do is not held against workers: nobody else may pass for them.
      kind: session.principal.isTrusted ? (kind ?? "worker") : "worker",
    },
    featureSet(features ?? []),
  );
  kernel.changes.emit({ kind: "worker", id: session.workerId, op: "updated" });
  return { ok: true, result: Payload.fromValue({ success: true }) };
}

const SHARED_TEXTS = 1_000;
const sharedTexts = new Map<string, string>();

/** One copy of what many workers say alike. The oldest goes when the table is full. */
function shared(text: string): string {
  const known = sharedTexts.get(text);
  if (known !== undefined) return known;
  if (sharedTexts.size >= SHARED_TEXTS) sharedTexts.delete(sharedTexts.keys().next().value ?? "");
  sharedTexts.set(text, text);
  return text;
}

const featureSets = new Map<string, ReadonlySet<Feature>>();

/** One set for all connections with the same features: there are few combinations, and may be ten thousand connections. */
function featureSet(features: readonly string[]): ReadonlySet<Feature> {
  const known = FEATURES.filter((feature) => features.includes(feature));
  const key = known.join();
  const shared = featureSets.get(key) ?? new Set(known);
  featureSets.set(key, shared);
  return shared;
}

/** Names reach terminals and pages, so what could disturb those is taken out. */
function shown(text: string): string {
  return text.replace(UNSHOWN, "").slice(0, MAX_SHOWN_CHARACTERS);
}
