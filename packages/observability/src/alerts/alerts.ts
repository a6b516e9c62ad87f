import { every, type ModuleContext, type Undo } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import type { AlertChanges, AlertRule } from "../config.ts";
import type { MetricReader } from "../metrics/reader.ts";
import { Alert } from "./alert.ts";
import type { AlertEvent } from "./alert-event.ts";
import { AlertHistory } from "./alert-history.ts";
import { Notifier } from "./notifier.ts";
import { type AlertMaker, type AlertOverride, RulesFile, type SavedRule, type SavedRules } from "./saved-rules.ts";

const EVALUATE_MS = 5_000;
const MAX_RULES = 1_000;
const MAX_CHANGES = 100;

export interface AlertsParts {
  readonly context: Pick<
    ModuleContext<unknown>,
    "clock" | "log" | "identity" | "outboundRules" | "call" | "providerOf" | "reserveFunction" | "isRoleInForce"
  >;
  readonly rules: readonly AlertRule[];
  /** File with the rules made at run time. */
  readonly file: string;
  readonly reader: MetricReader;
  /** Called when an alert is created, changed, fires, resolves or is deleted. */
  readonly onChange: (op: "create" | "update" | "delete", alert: Alert) => void;
}

/** All alerts. They are evaluated every 5 s and can be changed at run time. A change applies once it is on disk. */
export class Alerts {
  readonly history = new AlertHistory();
  readonly #parts: AlertsParts;
  readonly #file: RulesFile;
  readonly #notifier: Notifier;
  #alerts = new Map<string, Alert>();
  /** Rules made at run time that are inactive, because the config file now has rules with the same names. */
  #shadowed: readonly SavedRule[] = [];
  /** Run-time overrides by alert name. */
  #overrides: ReadonlyMap<string, AlertOverride> = new Map();
  /** Reserves the functions that alerts of trusted callers call, so that no restricted caller can provide them. */
  #reservations: readonly Undo[] = [];
  #changes: Promise<unknown> = Promise.resolve();
  #waitingChanges = 0;
  #stopEvaluating: () => void = () => {};

  private constructor(parts: AlertsParts) {
    const { context, file } = parts;
    this.#parts = parts;
    this.#file = new RulesFile(file, context.log);
    this.#notifier = new Notifier({
      clock: context.clock,
      log: context.log,
      call: (functionId, payload, options) => context.call(functionId, payload, options),
      providerOf: context.providerOf,
      outboundRules: () => context.outboundRules,
    });
  }

  /** Reads the saved rules and starts to evaluate. Rejects with an Error for users if the file cannot be read. */
  static async open(parts: AlertsParts): Promise<Alerts> {
    const alerts = new Alerts(parts);
    alerts.#apply(parts.rules, await alerts.#file.read());
    alerts.#removeAlertsOfRemovedRoles();
    alerts.#stopEvaluating = every(parts.context.clock, EVALUATE_MS, () => void alerts.evaluate());
    return alerts;
  }

  all(): readonly Alert[] {
    return [...this.#alerts.values()];
  }

  /** Returns the events of alerts that started to fire. */
  evaluate(): readonly AlertEvent[] {
    const { reader, context } = this.#parts;
    this.#removeAlertsOfRemovedRoles();
    const at = {
      now: context.clock.now(),
      monotonic: context.clock.monotonic(),
      instanceId: context.identity.instanceId,
    };
    const begun: AlertEvent[] = [];
    reader.refresh();
    for (const alert of this.#alerts.values()) {
      const { event, notification } = alert.evaluate(reader, at);
      if (event?.firing === true) begun.push(event);
      this.#handle(alert, event, notification);
    }
    return begun;
  }

  create(given: AlertRule, { madeBy }: { readonly madeBy: AlertMaker | undefined }): Promise<Alert> {
    const rule: SavedRule = madeBy === undefined ? given : { ...given, made_by: madeBy };
    return this.#change(async () => {
      if (this.#alerts.has(rule.name))
        throw new CallError("registration_refused", `there is an alert named ${rule.name} already`);
      if (this.#alerts.size >= MAX_RULES)
        throw new CallError("registration_refused", `the limit of ${MAX_RULES} alerts is reached`);
      const alert = new Alert(rule, "runtime");
      await this.#save({ rules: [...this.#runtimeRules(), rule] });
      this.#alerts.set(rule.name, alert);
      this.#reserveFunctions();
      this.#parts.onChange("create", alert);
      return alert;
    });
  }

  /**
   * Changes a rule. Members that are left out keep their values. For a rule of the config only `enabled` can change.
   */
  update(name: string, changes: AlertChanges, { madeBy }: { readonly madeBy: AlertMaker | undefined }): Promise<Alert> {
    return this.#change(async () => {
      const alert = this.#find(name);
      // `changes` comes from JSON, which has no undefined, so each member that is present has a value.
      const origin = changes.action === undefined ? {} : { made_by: madeBy, of_restricted: undefined };
      const rule = { ...alert.rule, ...changes, ...origin, name } as SavedRule;
      if (alert.source === "runtime")
        await this.#save({ rules: this.#runtimeRules().map((made) => (made.name === name ? rule : made)) });
      else if (Object.keys(changes).some((key) => key !== "enabled"))
        throw configRuleError(name, "only `enabled` can be changed at run time");
      else await this.#save({ overrides: this.#overridesWith(name, { enabled: rule.enabled }) });
      alert.change(rule);
      this.#reserveFunctions();
      this.#parts.onChange("update", alert);
      return alert;
    });
  }

  remove(name: string): Promise<void> {
    return this.#change(async () => {
      const alert = this.#find(name);
      if (alert.source === "config")
        throw configRuleError(name, "disable it with engine::alerts::update {name, enabled: false}");
      await this.#save({
        rules: this.#runtimeRules().filter((made) => made.name !== name),
        overrides: [...this.#overrides.values()].filter((override) => override.name !== name),
      });
      this.#alerts.delete(name);
      this.#reserveFunctions();
      this.#endRemoved(alert);
    });
  }

  /** Sets the time until which no notifications are sent, in milliseconds since 1970; undefined ends the silence. */
  silence(name: string, until: number | undefined): Promise<Alert> {
    return this.#change(async () => {
      const alert = this.#find(name);
      await this.#save({ overrides: this.#overridesWith(name, { silenced_until: until }) });
      alert.silencedUntil = until;
      this.#parts.onChange("update", alert);
      return alert;
    });
  }

  /** Applies the rules of a changed config file. Alerts that remain keep their state. */
  reconfigure(rules: readonly AlertRule[]): Promise<void> {
    return this.#change(async () =>
      this.#apply(rules, { rules: this.#runtimeRules(), overrides: [...this.#overrides.values()] }),
    );
  }

  async stop(): Promise<void> {
    this.#stopEvaluating();
    await this.#changes;
    await this.#notifier.stop();
  }

  #apply(configured: readonly AlertRule[], saved: SavedRules): void {
    const before = this.#alerts;
    this.#overrides = new Map(saved.overrides.map((override) => [override.name, override]));
    const names = new Set(configured.map(({ name }) => name));
    this.#shadowed = saved.rules.filter(({ name }) => names.has(name));
    for (const { name } of this.#shadowed) {
      this.#parts.context.log.warn("an alert made at run time is replaced by one with the same name in the config", {
        alert: name,
      });
    }
    this.#alerts = new Map();
    const add = (rule: SavedRule, source: Alert["source"]): void => {
      const known = before.get(rule.name);
      const alert = known?.source === source ? known : new Alert(rule, source);
      const override = this.#overrides.get(rule.name);
      alert.change(
        source === "config" && override?.enabled !== undefined ? { ...rule, enabled: override.enabled } : rule,
      );
      alert.silencedUntil = override?.silenced_until;
      this.#alerts.set(rule.name, alert);
    };
    for (const rule of configured) add(rule, "config");
    for (const rule of saved.rules) if (!names.has(rule.name)) add(rule, "runtime");
    this.#reserveFunctions();
    for (const [name, alert] of before) if (this.#alerts.get(name) !== alert) this.#endRemoved(alert);
    for (const [name, alert] of this.#alerts)
      this.#parts.onChange(before.get(name) === alert ? "update" : "create", alert);
  }

  /** Removes alerts whose maker's role is no longer in force: at once in memory, then on disk. */
  #removeAlertsOfRemovedRoles(): void {
    const { log, isRoleInForce } = this.#parts.context;
    const isLeft = ({ made_by }: SavedRule): boolean => made_by?.role !== undefined && !isRoleInForce(made_by.role);
    const left = this.#runtimeRules().filter(isLeft);
    if (left.length === 0) return;
    this.#shadowed = this.#shadowed.filter((rule) => !isLeft(rule));
    for (const { name, made_by } of left) {
      const alert = this.#alerts.get(name);
      if (alert?.source === "runtime") {
        this.#alerts.delete(name);
        // The alert's action must not run any more, so no resolution is sent.
        this.#parts.onChange("delete", alert);
      }
      log.warn(
        "an alert was removed, because the role that made it, or every token of it, was removed from the config",
        { alert: name, role: made_by?.role },
      );
    }
    this.#change(() => this.#save({})).catch((error: unknown) => {
      log.error("the removal of alerts could not be saved; they are removed again at the next start", { error });
    });
  }

  /** Reserves the functions that alerts call. Includes disabled alerts, because they can be enabled again. */
  #reserveFunctions(): void {
    const ids = this.all().flatMap(({ rule }) =>
      rule.action.type === "function" && !isOfRestricted(rule) ? [rule.action.path] : [],
    );
    for (const undo of this.#reservations) undo();
    this.#reservations = ids.map((id) => this.#parts.context.reserveFunction(id));
  }

  /** Ends a removed alert. If a firing notification was sent, a resolution follows. */
  #endRemoved(alert: Alert): void {
    const { context, reader } = this.#parts;
    alert.change({ ...alert.rule, enabled: false });
    const at = {
      now: context.clock.now(),
      monotonic: context.clock.monotonic(),
      instanceId: context.identity.instanceId,
    };
    const { event, notification } = alert.evaluate(reader, at);
    this.#handle(alert, event, notification);
    this.#parts.onChange("delete", alert);
  }

  #handle(alert: Alert, event: AlertEvent | undefined, notification: AlertEvent | undefined): void {
    if (event !== undefined) {
      this.history.add(event);
      this.#parts.onChange("update", alert);
    }
    if (notification !== undefined) this.#notifier.send(alert, notification);
  }

  #find(name: string): Alert {
    const alert = this.#alerts.get(name);
    if (alert === undefined) throw new CallError("NOT_FOUND", `there is no alert named ${name}`);
    return alert;
  }

  #runtimeRules(): readonly SavedRule[] {
    const live = this.all().flatMap(({ source, rule }) => (source === "runtime" ? [rule] : []));
    return [...live, ...this.#shadowed];
  }

  /** Returns the overrides with the changes to one alert. Drops overrides of alerts that no longer exist. */
  #overridesWith(name: string, changes: Omit<AlertOverride, "name">): readonly AlertOverride[] {
    const others = [...this.#overrides.values()].filter(
      (override) => override.name !== name && this.#alerts.has(override.name),
    );
    return [...others, { ...this.#overrides.get(name), ...changes, name }];
  }

  /** Resolves when the file is on disk. Members that are not given keep their values. */
  async #save({
    rules = this.#runtimeRules(),
    overrides = [...this.#overrides.values()],
  }: Partial<SavedRules>): Promise<void> {
    await this.#file.write({ rules, overrides });
    this.#overrides = new Map(overrides.map((override) => [override.name, override]));
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waitingChanges >= MAX_CHANGES)
      return Promise.reject(new CallError("overloaded", "too many changes of alerts are waiting for the disk"));
    this.#waitingChanges++;
    const done = this.#changes.then(work).finally(() => {
      this.#waitingChanges--;
    });
    this.#changes = done.catch(() => {});
    return done;
  }
}

function isOfRestricted({ made_by, of_restricted }: SavedRule): boolean {
  return made_by !== undefined || of_restricted === true;
}

function configRuleError(name: string, what: string): CallError {
  return new CallError("INVALID_ARGUMENTS", `the alert ${name} comes from the config file: change it there; ${what}`);
}
