import { type Directory, type ProviderOf, takenRefusal } from "@svc-runtime/engine/module";
import { type CallError, didYouMean } from "@svc-runtime/protocol";
import type { MetricReader } from "../metrics/reader.ts";
import { metricOf } from "./metric-alias.ts";
import type { SavedRule } from "./saved-rules.ts";

/** Returns why a rule cannot fire or notify; undefined if no problem is known. `visible` is what the caller may see. */
export function alertProblem(
  rule: SavedRule,
  {
    reader,
    directory,
    visible,
    providerOf,
  }: {
    readonly reader: MetricReader;
    readonly directory: Directory;
    readonly visible: Directory | undefined;
    readonly providerOf: ProviderOf;
  },
): string | undefined {
  const nothing = reader.problem();
  if (nothing !== undefined) return nothing;
  const missing = reader.missing(metricOf(rule.metric, {}).name);
  const problems = missing === undefined ? [] : [`${rule.metric}: ${missing}`];
  if (rule.action.type === "function" && directory.functionById(rule.action.path) === undefined) {
    const known = (visible?.functions() ?? []).map(({ function_id }) => function_id);
    problems.push(`${rule.action.path}: function not found${didYouMean(rule.action.path, known)}`);
  }
  const taken = takenActionOf(rule, providerOf);
  if (taken !== undefined) problems.push(taken.message);
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** Returns an error if the function now has another provider than when a restricted caller set the action. */
export function takenActionOf({ action, made_by }: SavedRule, providerOf: ProviderOf): CallError | undefined {
  if (action.type !== "function" || made_by?.provider === undefined) return undefined;
  return takenRefusal(action.path, made_by.provider, providerOf);
}
