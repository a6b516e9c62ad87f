import { CallError } from "@svc/protocol";
import { every } from "../../../kernel/clock.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { AlertChanges, AlertRule } from "../config.ts";
import { Alert } from "./alert.ts";
import type { AlertEvent } from "./alert-event.ts";
import { AlertHistory } from "./alert-history.ts";
import type { MetricReader } from "./metric-reader.ts";
import { Notices } from "./notices.ts";
import { type AlertMaker, type AlertOverride, RulesFile, type SavedRule, type SavedRules } from "./saved-rules.ts";

const EVALUATE_MS = 5_000;
const MAX_RULES = 1_000;
/** Changes that may wait for the disk. */
const MAX_CHANGES = 100;

export interface AlertsParts {
  readonly context: Pick<ModuleContext<unknown>, "clock" | "log" | "identity" | "outboundRules" | "call" | "providerOf" | "reserveFunction" | "isRoleInForce">;
  /** Of the config file. */
  readonly rules: readonly AlertRule[];
  /** Keeps what is made at run time. */
  readonly file: string;
  readonly reader: MetricReader;
  /** An alert is new, was changed, fires or has resolved, or is gone. */
  readonly onChange: (op: "create" | "update" | "delete", alert: Alert) => void;
}

/** All alerts: evaluated every 5 s, changed at run time. A change counts once it is on the disk. */
export class Alerts {
  readonly history = new AlertHistory();
  readonly #parts: AlertsParts;
  readonly #file: RulesFile;
  readonly #notices: Notices;
  #alerts = new Map<string, Alert>();
  /** Made at run time under names that the config has taken since. */
  #shadowed: readonly SavedRule[] = [];
  /** By the alert's name: what was decided at run time about it. */
  #overrides: ReadonlyMap<string, AlertOverride> = new Map();
  /** Of the functions that alerts of trusted callers call. */
  #reservations: readonly Undo[] = [];
  #changes: Promise<unknown> = Promise.resolve();
  #waitingChanges = 0;
  #stopEvaluating: () => void = () => {};

  private constructor(parts: AlertsParts) {
    const { context, file } = parts;
    this.#parts = parts;
    this.#file = new RulesFile(file, context.log);
    this.#notices = new Notices({
      clock: context.clock,
      log: context.log,
      call: (functionId, payload, options) => context.call(functionId, payload, options),
      providerOf: context.providerOf,
      outboundRules: () => context.outboundRules,
    });
  }

  /** Reads what was made at run time before, and begins to evaluate. Rejects with an Error for people when the file cannot be read. */
  static async open(parts: AlertsParts): Promise<Alerts> {
    const alerts = new Alerts(parts);
    alerts.#take(parts.rules, await alerts.#file.read());
    alerts.#removeThoseOfRemovedRoles();
    alerts.#stopEvaluating = every(parts.context.clock, EVALUATE_MS, () => void alerts.evaluate());
    return alerts;
  }

  all(): readonly Alert[] {
    return [...this.#alerts.values()];
  }

  /** Answers what began to fire. */
  evaluate(): readonly AlertEvent[] {
    const { reader, context } = this.#parts;
    this.#removeThoseOfRemovedRoles();
    const at = { now: context.clock.now(), monotonic: context.clock.monotonic(), instanceId: context.identity.instanceId };
    const begun: AlertEvent[] = [];
    reader.refresh();
    for (const alert of this.#alerts.values()) {
      const { event, notice } = alert.evaluate(reader, at);
      if (event?.firing === true) begun.push(event);
      this.#tell(alert, event, notice);
    }
    return begun;
  }

  create(given: AlertRule, { madeBy }: { readonly madeBy: AlertMaker | undefined }): Promise<Alert> {
    const rule: SavedRule = madeBy === undefined ? given : { ...given, made_by: madeBy };
    return this.#change(async () => {
      if (this.#alerts.has(rule.name)) throw new CallError("registration_refused", `there is an alert named ${rule.name} already`);
      if (this.#alerts.size >= MAX_RULES) throw new CallError("registration_refused", `there are ${MAX_RULES} alerts, which is the most there can be`);
      const alert = new Alert(rule, "runtime");
      await this.#save({ rules: [...this.#madeHere(), rule] });
      this.#alerts.set(rule.name, alert);
      this.#reserveFunctions();
      this.#parts.onChange("create", alert);
      return alert;
    });
  }

  /** Members that are left out stay. Of a rule of the config only `enabled` changes here. */
  update(name: string, changes: AlertChanges, { madeBy }: { readonly madeBy: AlertMaker | undefined }): Promise<Alert> {
    return this.#change(async () => {
      const alert = this.#find(name);
      // What is there is not undefined: it came as JSON.
      const origin = changes.action === undefined ? {} : { made_by: madeBy, of_restricted: undefined };
      const rule = { ...alert.rule, ...changes, ...origin, name } as SavedRule;
      if (alert.source === "runtime") await this.#save({ rules: this.#madeHere().map((made) => (made.name === name ? rule : made)) });
      else if (Object.keys(changes).some((key) => key !== "enabled")) throw ofTheConfig(name, "only `enabled` can be changed at run time");
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
      if (alert.source === "config") throw ofTheConfig(name, "switch it off with engine::alerts::update {name, enabled: false}");
      await this.#save({
        rules: this.#madeHere().filter((made) => made.name !== name),
        overrides: [...this.#overrides.values()].filter((override) => override.name !== name),
      });
      this.#alerts.delete(name);
      this.#reserveFunctions();
      this.#end(alert);
    });
  }

  /** No notices until then (milliseconds since 1970); undefined: notices again. */
  silence(name: string, until: number | undefined): Promise<Alert> {
    return this.#change(async () => {
      const alert = this.#find(name);
      await this.#save({ overrides: this.#overridesWith(name, { silenced_until: until }) });
      alert.silencedUntil = until;
      this.#parts.onChange("update", alert);
      return alert;
    });
  }

  /** Takes the rules of a changed config file. Those that stay keep how they stand. */
  reconfigure(rules: readonly AlertRule[]): Promise<void> {
    return this.#change(async () => this.#take(rules, { rules: this.#madeHere(), overrides: [...this.#overrides.values()] }));
  }

  async stop(): Promise<void> {
    this.#stopEvaluating();
    await this.#changes;
    await this.#notices.stop();
  }

  #take(configured: readonly AlertRule[], saved: SavedRules): void {
    const before = this.#alerts;
    this.#overrides = new Map(saved.overrides.map((override) => [override.name, override]));
    const names = new Set(configured.map(({ name }) => name));
    this.#shadowed = saved.rules.filter(({ name }) => names.has(name));
    for (const { name } of this.#shadowed) {
      this.#parts.context.log.warn("an alert made at run time gives way to one of the same name in the config", { alert: name });
    }
    this.#alerts = new Map();
    const add = (rule: SavedRule, source: Alert["source"]): void => {
      const known = before.get(rule.name);
      const alert = known?.source === source ? known : new Alert(rule, source);
      const override = this.#overrides.get(rule.name);
      alert.change(source === "config" && override?.enabled !== undefined ? { ...rule, enabled: override.enabled } : rule);
      alert.silencedUntil = override?.silenced_until;
      this.#alerts.set(rule.name, alert);
    };
    for (const rule of configured) add(rule, "config");
    for (const rule of saved.rules) if (!names.has(rule.name)) add(rule, "runtime");
    this.#reserveFunctions();
    for (const [name, alert] of before) if (this.#alerts.get(name) !== alert) this.#end(alert);
    for (const [name, alert] of this.#alerts) this.#parts.onChange(before.get(name) === alert ? "update" : "create", alert);
  }

  /** Removes alerts whose maker's role is no longer in force: at once in memory, then on the disk. */
  #removeThoseOfRemovedRoles(): void {
    const { log, isRoleInForce } = this.#parts.context;
    const isLeft = ({ made_by }: SavedRule): boolean => made_by?.role !== undefined && !isRoleInForce(made_by.role);
    const left = this.#madeHere().filter(isLeft);
    if (left.length === 0) return;
    this.#shadowed = this.#shadowed.filter((rule) => !isLeft(rule));
    for (const { name, made_by } of left) {
      const alert = this.#alerts.get(name);
      if (alert?.source === "runtime") {
        this.#alerts.delete(name);
        // Its action must not run any more, so nobody is notified that it resolved.
        this.#parts.onChange("delete", alert);
      }
      log.warn("an alert was removed, because the role that made it, or every token of it, was removed from the config", { alert: name, role: made_by?.role });
    }
    this.#change(() => this.#save({})).catch((error: unknown) => {
      log.error("the removal of alerts could not be saved; they are removed again at the next start", { error });
    });
  }

  /** An alert that is switched off counts: it can be switched on again. */
  #reserveFunctions(): void {
    const ids = this.all().flatMap(({ rule }) => (rule.action.type === "function" && !isOfRestricted(rule) ? [rule.action.path] : []));
    for (const undo of this.#reservations) undo();
    this.#reservations = ids.map((id) => this.#parts.context.reserveFunction(id));
  }

  /** It is gone: who was told that it fires is told that it does not. */
  #end(alert: Alert): void {
    const { context, reader } = this.#parts;
    alert.change({ ...alert.rule, enabled: false });
    const at = { now: context.clock.now(), monotonic: context.clock.monotonic(), instanceId: context.identity.instanceId };
    const { event, notice } = alert.evaluate(reader, at);
    this.#tell(alert, event, notice);
    this.#parts.onChange("delete", alert);
  }

  #tell(alert: Alert, event: AlertEvent | undefined, notice: AlertEvent | undefined): void {
    if (event !== undefined) {
      this.history.add(event);
      this.#parts.onChange("update", alert);
    }
    if (notice !== undefined) this.#notices.send(alert, notice);
  }

  #find(name: string): Alert {
    const alert = this.#alerts.get(name);
    if (alert === undefined) throw new CallError("NOT_FOUND", `there is no alert named ${name}`);
    return alert;
  }

  #madeHere(): readonly SavedRule[] {
    const live = this.all().flatMap(({ source, rule }) => (source === "runtime" ? [rule] : []));
    return [...live, ...this.#shadowed];
  }

  /** Of alerts that are there; what was decided about others is forgotten with the next change. */
  #overridesWith(name: string, changes: Omit<AlertOverride, "name">): readonly AlertOverride[] {
    const others = [...this.#overrides.values()].filter((override) => override.name !== name && this.#alerts.has(override.name));
    return [...others, { ...this.#overrides.get(name), ...changes, name }];
  }

  /** Resolves when it is on the disk. What is not given stays. */
  async #save({ rules = this.#madeHere(), overrides = [...this.#overrides.values()] }: Partial<SavedRules>): Promise<void> {
    await this.#file.write({ rules, overrides });
    this.#overrides = new Map(overrides.map((override) => [override.name, override]));
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waitingChanges >= MAX_CHANGES) return Promise.reject(new CallError("overloaded", "too many changes of alerts are waiting for the disk"));
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

function ofTheConfig(name: string, what: string): CallError {
  return new CallError("INVALID_ARGUMENTS", `the alert ${name} comes from the config file: change it there; ${what}`);
}
