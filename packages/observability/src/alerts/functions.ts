import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkUrl, type HandlerContext, type ModuleContext, restrictedProviderOf } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { type AlertRule, alertChangesSchema, alertRuleSchema, type ObservabilityConfig } from "../config.ts";
import type { MetricReader } from "../metrics/reader.ts";
import type { Alert } from "./alert.ts";
import { type AlertState, alertState, alertStateSchema } from "./alert-json.ts";
import { alertProblem } from "./alert-problem.ts";
import type { Alerts } from "./alerts.ts";
import { type AlertMaker, damagedPathOf } from "./saved-rules.ts";

const MAX_SILENCE_SECONDS = 366 * 86_400;
const MAX_PAGE = 1_000;
const LIST = "engine::alerts::list";

const name = z.string().min(1).max(256);
const eventShape = () =>
  z.looseObject({
    name: z.string(),
    firing: z.boolean(),
    state: z.enum(["firing", "resolved"]),
    timestamp: z.number(),
  });

type Show = (alert: Alert, to?: Pick<HandlerContext, "access">) => AlertState;

export interface AlertFunctions {
  reconfigure(rules: readonly AlertRule[]): Promise<void>;
  stop(): Promise<void>;
}

/** Provides `engine::alerts::*`. Loads the implementation when it is needed. Rejects with an Error for users. */
export async function provideAlerts(
  context: ModuleContext<ObservabilityConfig>,
  reader: MetricReader,
): Promise<AlertFunctions> {
  const file = join(context.dataDir, "alerts.json");
  let rules: readonly AlertRule[] = context.config.alerts;
  let opened: Promise<Alerts> | undefined;
  let loaded: Alerts | undefined;
  const damagedFile = damagedPathOf(file);
  let isDamaged = existsSync(damagedFile);
  const damage = `alerts that were made at run time cannot be read and are not evaluated: repair ${damagedFile} and rename it to alerts.json, or delete it, and restart the engine`;
  context.reportHealth("alerts", () => (isDamaged ? { status: "degraded", details: damage } : undefined));
  const { directory } = context;
  // Subscribers of the stream see no function ids, because their rights are not known here.
  const show: Show = (alert, to) => {
    const visible = to === undefined ? undefined : (to.access?.visible(directory) ?? directory);
    return alertState(
      alert,
      context.clock.now(),
      alertProblem(alert.rule, { reader, directory, visible, providerOf: context.providerOf }),
    );
  };
  const stream = context.streams.provideSystemStream({
    name: "svc.alerts",
    summary: "Alerts as they change, fire and resolve",
    snapshot(id, access) {
      const mayLook = access?.callRefusal(LIST) === undefined;
      const states = mayLook ? (loaded?.all() ?? []).map((alert) => show(alert)) : [];
      return JSON.stringify(id === undefined ? states : (states.find((state) => state.name === id) ?? null));
    },
  });
  const onChange = (op: "create" | "update" | "delete", alert: Alert): void => {
    if (stream.subscribers > 0) stream.publish({ id: alert.rule.name, type: op, json: JSON.stringify(show(alert)) });
  };
  const alerts = (): Promise<Alerts> => {
    if (opened !== undefined) return opened;
    const opening = import("./alerts.ts").then(async ({ Alerts }) => {
      loaded = await Alerts.open({ context, rules, file, reader, onChange });
      isDamaged = existsSync(damagedFile);
      return loaded;
    });
    opened = opening;
    // After a failure, the next caller tries again.
    opening.catch(() => {
      opened = undefined;
    });
    return opening;
  };
  if (rules.length > 0 || existsSync(file)) await alerts();
  provideReadFunctions(context, alerts, show);
  provideWriteFunctions(context, alerts, show);
  return {
    async reconfigure(next) {
      rules = next;
      if (opened !== undefined || next.length > 0) await (await alerts()).reconfigure(next);
    },
    async stop() {
      if (opened !== undefined) await (await opened).stop();
    },
  };
}

function provideReadFunctions(
  { clock, provideFunction }: ModuleContext<ObservabilityConfig>,
  alerts: () => Promise<Alerts>,
  show: Show,
): void {
  provideFunction({
    id: LIST,
    summary: "Alerts and their states",
    input: () => z.object({}),
    output: () => z.object({ alerts: z.array(alertStateSchema()), firing_count: z.number(), timestamp: z.number() }),
    async handle(_input, caller) {
      const now = clock.now();
      const states = (await alerts()).all().map((alert) => show(alert, caller));
      return { alerts: states, firing_count: states.filter(({ firing }) => firing).length, timestamp: now };
    },
  });
  provideFunction({
    id: "engine::alerts::evaluate",
    summary: "Evaluates all alerts now, as happens every 5 s; returns those that started to fire",
    input: () => z.object({}),
    output: () => z.object({ evaluated: z.number(), triggered_alerts: z.array(eventShape()), timestamp: z.number() }),
    async handle() {
      const all = await alerts();
      const triggered_alerts = all.evaluate();
      return {
        evaluated: all.all().filter(({ rule }) => rule.enabled).length,
        triggered_alerts,
        timestamp: clock.now(),
      };
    },
  });
  provideFunction({
    id: "engine::alerts::history",
    summary: "When alerts started and stopped firing, latest first; the last 1,000 since the engine started",
    input: () =>
      z.object({
        name: name.optional(),
        limit: z.number().int().min(1).max(MAX_PAGE).default(100),
        cursor: z
          .string()
          .regex(/^\d{1,15}$/, { message: "is not a cursor of this function" })
          .optional(),
      }),
    output: () => z.object({ events: z.array(eventShape()), cursor: z.string().nullable(), total: z.number() }),
    handle: async ({ name: wanted, limit, cursor }) =>
      (await alerts()).history.page({ name: wanted, limit, cursor: cursor === undefined ? undefined : Number(cursor) }),
  });
}

function provideWriteFunctions(
  context: ModuleContext<ObservabilityConfig>,
  alerts: () => Promise<Alerts>,
  show: Show,
): void {
  const { clock, provideFunction } = context;
  provideFunction({
    id: "engine::alerts::create",
    summary: "Creates an alert that stays until it is deleted, even after restarts",
    input: alertRuleSchema,
    output: alertStateSchema,
    async handle(rule, caller) {
      const madeBy = makerOf(rule.action, context, caller);
      return show(await (await alerts()).create(rule, { madeBy }), caller);
    },
  });
  provideFunction({
    id: "engine::alerts::update",
    summary:
      "Changes an alert; members that are left out keep their values. Alerts of the config file can only be enabled and disabled",
    input: alertChangesSchema,
    output: alertStateSchema,
    async handle({ name: wanted, ...changes }, caller) {
      const madeBy = makerOf(changes.action, context, caller);
      return show(await (await alerts()).update(wanted, changes, { madeBy }), caller);
    },
  });
  provideFunction({
    id: "engine::alerts::delete",
    summary: "Deletes an alert that was made at run time",
    input: () => z.strictObject({ name }),
    output: () => z.object({ success: z.literal(true) }),
    async handle({ name: wanted }) {
      await (await alerts()).remove(wanted);
      return { success: true };
    },
  });
  provideFunction({
    id: "engine::alerts::silence",
    summary:
      "Silences the notifications of an alert for a duration or until a time; 0 seconds ends the silence. It is still evaluated",
    input: () =>
      z.strictObject({
        name,
        seconds: z.number().min(0).max(MAX_SILENCE_SECONDS).optional(),
        until: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional().meta({ description: "ms since 1970" }),
      }),
    output: alertStateSchema,
    async handle({ name: wanted, seconds, until }) {
      if ((seconds === undefined) === (until === undefined))
        throw new CallError("invalid_input", "engine::alerts::silence: give `seconds` or `until`");
      const now = clock.now();
      const end = until ?? now + (seconds ?? 0) * 1_000;
      return show(await (await alerts()).silence(wanted, end > now ? end : undefined));
    },
  });
}

/**
 * Returns the restricted caller that sets the action; undefined if the caller is trusted. Throws CallError if the
 * caller may not do itself what the action does, because alerts act with the engine's rights.
 */
function makerOf(
  action: AlertRule["action"] | undefined,
  { outboundRules, providerOf }: ModuleContext<ObservabilityConfig>,
  { access, principal }: HandlerContext,
): AlertMaker | undefined {
  if (action?.type === "webhook") checkUrl(action.url, outboundRules);
  if (access === undefined) return undefined;
  const maker = { principal: principal.id, role: principal.role };
  if (action?.type !== "function") return maker;
  const refusal = access.deferRefusal(action.path);
  if (refusal !== undefined) throw refusal;
  return { ...maker, provider: restrictedProviderOf(action.path, providerOf) };
}
