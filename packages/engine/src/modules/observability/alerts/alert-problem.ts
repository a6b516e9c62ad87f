import type { Directory } from "../../../kernel/directory.ts";
import { didYouMean } from "../../../kernel/nearest-name.ts";
import type { AlertRule } from "../config.ts";
import { metricOf } from "./metric-alias.ts";
import type { MetricReader } from "./metric-reader.ts";

/** Why a rule cannot fire at present, or tell nobody; undefined when nothing is known to be wrong. `visible`: the functions that whoever asks may see. */
export function alertProblem(
  rule: AlertRule,
  { reader, directory, visible }: { readonly reader: MetricReader; readonly directory: Directory; readonly visible: Directory | undefined },
): string | undefined {
  const nothing = reader.problem();
  if (nothing !== undefined) return nothing;
  const missing = reader.missing(metricOf(rule.metric, {}).name);
  const problems = missing === undefined ? [] : [`${rule.metric}: ${missing}`];
  if (rule.action.type === "function" && directory.functionById(rule.action.path) === undefined) {
    const known = (visible?.functions() ?? []).map(({ function_id }) => function_id);
    problems.push(`${rule.action.path}: there is no such function at present${didYouMean(rule.action.path, known)}`);
  }
  return problems.length === 0 ? undefined : problems.join("; ");
}
