import type { FunctionEntry, Registration } from "./registry.ts";

/** `elsewhere`: only other nodes provide the function, and they may not get the call. */
export type Choice =
  | { readonly registration: Registration }
  | { readonly refusal: "draining" | "overloaded" | "elsewhere" };

export interface ChoiceLimits {
  /** True if no other node may get the call. */
  readonly onlyHere?: boolean | undefined;
  /** True if the call finishes other in-flight work. Then a worker that is leaving may get it if there is no other. */
  readonly whileDraining?: boolean;
  /** The run of a node that has refused the call and must not be chosen again. */
  readonly exceptRun?: string | undefined;
}

/** A local provider with up to this many calls in flight is preferred to any other node. */
const PREFER_LOCAL_BELOW = 8;

/**
 * Chooses the provider with the fewest calls in flight. Equally busy providers take turns. Draining and overloaded
 * providers are skipped. A standby provider is chosen only if there is no other. Another node gets the call in two
 * cases: no local provider can take it; or the chosen local worker has more than PREFER_LOCAL_BELOW calls in flight and
 * more than twice as many as that node.
 */
export function chooseProvider(entry: FunctionEntry, limits?: ChoiceLimits): Choice {
  const local = chooseLocal(entry);
  const isLocal = entry.localCount === entry.registrations.length || limits?.onlyHere;
  const choice = isLocal ? local : chooseNode(entry, local, limits?.exceptRun);
  return "refusal" in choice && limits?.whileDraining ? chooseLeaving(entry, choice) : choice;
}

function chooseLeaving({ registrations, localCount }: FunctionEntry, refused: Choice): Choice {
  for (const registration of registrations.slice(0, localCount)) {
    const { provider } = registration;
    if (provider.isLeaving === true && provider.refusal() === undefined) return { registration };
  }
  return refused;
}

function chooseNode(
  { registrations, localCount }: FunctionEntry,
  local: Choice,
  exceptRun: string | undefined,
): Choice {
  const here = "registration" in local ? local.registration : undefined;
  if (here?.provider.builtIn || (here !== undefined && here.provider.inFlight <= PREFER_LOCAL_BELOW)) return local;
  let best: Registration | undefined;
  let least = Number.POSITIVE_INFINITY;
  let draining: Registration | undefined;
  let refusal = "refusal" in local ? local.refusal : undefined;
  for (let at = localCount; at < registrations.length; at++) {
    const candidate = registrations[at] as Registration;
    const { remote } = candidate.provider;
    if (remote === undefined || remote.run === exceptRun || remote.load >= least) continue;
    const refused = candidate.provider.refusal();
    if (refused === undefined && remote.isDraining) draining ??= candidate;
    else if (refused === undefined) {
      best = candidate;
      least = remote.load;
    } else if (refusal !== "overloaded") refusal = refused;
  }
  if (here !== undefined)
    return best !== undefined && here.provider.inFlight > 2 * least ? { registration: best } : local;
  best ??= draining;
  return best === undefined ? { refusal: refusal ?? "elsewhere" } : { registration: best };
}

function chooseLocal(entry: FunctionEntry): Choice {
  const { registrations, localCount } = entry;
  if (localCount === 0) return { refusal: "elsewhere" };
  const count = registrations[0]?.provider.builtIn ? 1 : localCount;
  entry.turn = (entry.turn + 1) % count;
  let best: Registration | undefined;
  let standby: Registration | undefined;
  let overloaded = false;
  for (let step = 0; step < count; step++) {
    const candidate = registrations[(entry.turn + step) % count] as Registration;
    if (candidate.provider.isLeaving === true) continue;
    const refusal = candidate.provider.refusal();
    if (refusal !== undefined) {
      overloaded ||= refusal === "overloaded";
      continue;
    }
    if (candidate.provider.isStandby) {
      standby ??= candidate;
      continue;
    }
    if (best === undefined || candidate.provider.inFlight < best.provider.inFlight) best = candidate;
    if (best.provider.inFlight === 0) break;
  }
  best ??= standby;
  if (best !== undefined) return { registration: best };
  return { refusal: overloaded ? "overloaded" : "draining" };
}
