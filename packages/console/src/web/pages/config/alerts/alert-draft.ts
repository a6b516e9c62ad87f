import type { Alert } from "./use-alerts.ts";

/** The form of an alert: all texts, as they are typed. */
export interface AlertDraft {
  readonly name: string;
  readonly metric: string;
  readonly operator: string;
  readonly threshold: string;
  readonly windowSeconds: string;
  readonly forSeconds: string;
  readonly cooldownSeconds: string;
  readonly rate: boolean;
  /** One `name=value` to a line. */
  readonly labels: string;
  /** `keep`: what it is now; a webhook's address is not told in full, so it cannot be filled in. */
  readonly action: "log" | "webhook" | "function" | "keep";
  readonly target: string;
}

export const NEW_ALERT: AlertDraft = {
  ...{ name: "", metric: "", operator: ">", threshold: "", windowSeconds: "60", forSeconds: "0", cooldownSeconds: "60", rate: false },
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
    ...{ name: alert.name, metric: alert.metric, operator: operatorSign(alert.operator), threshold: String(alert.threshold), rate: alert.rate },
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

/** What is wrong with each field; empty when it may be sent. */
export function problemsOf(draft: AlertDraft): DraftProblems {
  const problems: DraftProblems = {};
  if (draft.name.trim() === "") problems.name = "It needs a name";
  if (draft.metric.trim() === "") problems.metric = "Which metric is watched?";
  if (draft.threshold.trim() === "" || !Number.isFinite(Number(draft.threshold))) problems.threshold = "It takes a number";
  const windowSeconds = whole(draft.windowSeconds);
  if (windowSeconds === undefined || windowSeconds < 5 || windowSeconds > 86_400) problems.windowSeconds = "5 to 86,400 whole seconds";
  for (const field of ["forSeconds", "cooldownSeconds"] as const) {
    const seconds = whole(draft[field]);
    if (seconds === undefined || seconds > 86_400) problems[field] = "0 to 86,400 whole seconds";
  }
  if (labelsOf(draft.labels) === undefined) problems.labels = "Each line is name=value";
  if ((draft.action === "webhook" || draft.action === "function") && draft.target.trim() === "") {
    problems.target = draft.action === "webhook" ? "It needs an address" : "It needs the id of a function";
  }
  return problems;
}

/** What `create` and `update` take. */
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
