import { t } from "../../../labels/translate.ts";
import type { Alert } from "./use-alerts.ts";

/** Contents of the alert form, as the user typed them. */
export interface AlertDraft {
  readonly name: string;
  readonly metric: string;
  readonly operator: string;
  readonly threshold: string;
  readonly windowSeconds: string;
  readonly forSeconds: string;
  readonly cooldownSeconds: string;
  readonly rate: boolean;
  /** Labels, one `name=value` per line. */
  readonly labels: string;
  /**
   * `keep` means that the action stays unchanged. It is needed because the engine masks the URL of a webhook, so the
   * form cannot show it.
   */
  readonly action: "log" | "webhook" | "function" | "keep";
  readonly target: string;
}

export const NEW_ALERT: AlertDraft = {
  ...{
    name: "",
    metric: "",
    operator: ">",
    threshold: "",
    windowSeconds: "60",
    forSeconds: "0",
    cooldownSeconds: "60",
    rate: false,
  },
  ...{ labels: "", action: "log", target: "" },
};

export const OPERATORS = [">", ">=", "<", "<=", "==", "!="] as const;
const BY_NAME: Readonly<Record<string, string>> = {
  GreaterThan: ">",
  GreaterThanOrEqual: ">=",
  LessThan: "<",
  LessThanOrEqual: "<=",
  Equal: "==",
  NotEqual: "!=",
};

export function operatorSign(name: string): string {
  return BY_NAME[name] ?? name;
}

export function draftOf(alert: Alert): AlertDraft {
  return {
    ...{
      name: alert.name,
      metric: alert.metric,
      operator: operatorSign(alert.operator),
      threshold: String(alert.threshold),
      rate: alert.rate,
    },
    windowSeconds: String(alert.window_seconds),
    forSeconds: String(alert.for_seconds),
    cooldownSeconds: String(alert.cooldown_seconds),
    labels: Object.entries(alert.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    ...{ action: "keep", target: "" },
  };
}

export type DraftProblems = Partial<Record<keyof AlertDraft, string>>;

/** Returns a message for each invalid field; empty if the draft is valid. */
export function problemsOf(draft: AlertDraft): DraftProblems {
  const problems: DraftProblems = {};
  if (draft.name.trim() === "") problems.name = t`Name is required`;
  if (draft.metric.trim() === "") problems.metric = t`Metric is required`;
  if (draft.threshold.trim() === "" || !Number.isFinite(Number(draft.threshold)))
    problems.threshold = t`Must be a number`;
  const windowSeconds = whole(draft.windowSeconds);
  if (windowSeconds === undefined || windowSeconds < 5 || windowSeconds > 86_400)
    problems.windowSeconds = t`Must be a whole number from 5 to 86,400`;
  for (const field of ["forSeconds", "cooldownSeconds"] as const) {
    const seconds = whole(draft[field]);
    if (seconds === undefined || seconds > 86_400) problems[field] = t`Must be a whole number from 0 to 86,400`;
  }
  if (labelsOf(draft.labels) === undefined) problems.labels = t`Each line must be name=value`;
  if ((draft.action === "webhook" || draft.action === "function") && draft.target.trim() === "") {
    problems.target = draft.action === "webhook" ? t`URL is required` : t`Function ID is required`;
  }
  return problems;
}

/** Returns the payload of `engine::alerts::create` and `engine::alerts::update`. */
export function ruleOf(draft: AlertDraft): Readonly<Record<string, unknown>> {
  const labels = labelsOf(draft.labels) ?? {};
  return {
    name: draft.name.trim(),
    metric: draft.metric.trim(),
    operator: draft.operator,
    threshold: Number(draft.threshold),
    window_seconds: whole(draft.windowSeconds),
    for_seconds: whole(draft.forSeconds),
    cooldown_seconds: whole(draft.cooldownSeconds),
    rate: draft.rate,
    labels,
    ...(draft.action === "keep" ? {} : { action: actionOf(draft.action, draft.target.trim()) }),
  };
}

function actionOf(type: "log" | "webhook" | "function", target: string): Readonly<Record<string, string>> {
  if (type === "log") return { type };
  return type === "webhook" ? { type, url: target } : { type, path: target };
}

function whole(text: string): number | undefined {
  return /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}

function labelsOf(text: string): Readonly<Record<string, string>> | undefined {
  const labels: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    if (at < 1) return undefined;
    labels[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return labels;
}
