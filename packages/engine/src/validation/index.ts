import { createHash } from "node:crypto";
import { CallError, type Payload } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { FormatCheck, FormatChecks, FormatRequest } from "../kernel/format-check.ts";
import { compileSchema, validator } from "./compiler.ts";
import { inspectFormat } from "./inspect-format.ts";
import { mismatchOf } from "./mismatch.ts";
import { TimeBudget } from "./time-budget.ts";
import { TimeLimitError, withinTime } from "./time-limit.ts";

/**
 * Time limit of one check, and of one compilation, in milliseconds. A busy machine takes many times longer than an idle
 * one.
 */
const CHECK_MS = 250;
const COMPILE_MS = 2_000;
/**
 * Pause after a format exceeded the limit, in milliseconds, so that it can take at most a tenth of the engine's time.
 */
const PAUSE_MS = 10 * CHECK_MS;
/** Larger values, in bytes, are checked under the time limit for every format. */
const LARGE_BYTES = 64 * 1024;
/** Maximum number of cached compiled formats; the oldest is removed. */
const KEPT_FORMATS = 1_000;
/** Maximum number of restricted principals whose time is counted; the oldest is removed. */
const KEPT_BUDGETS = 10_000;

interface Validator {
  readonly validate: ReturnType<typeof compileSchema>;
  readonly isCostly: boolean;
  /** On the monotonic clock, in milliseconds. */
  pausedUntil: number;
}

type Compiled = Validator | { readonly problem: string };
/** `later`: its principal has no time left at the moment, so the format is compiled when it is needed. */
type CompiledOrLater = Compiled | "later";

/**
 * Validates payloads by JSON Schema. `enforceAll` is the engine's setting for registrations without a choice of their
 * own.
 */
export class JsonSchemaChecks implements FormatChecks {
  readonly #enforceAll: () => boolean;
  /** By hash of the format, since replicas register the same ones. */
  readonly #compiled = new Map<string, Compiled>();
  /** By principal; trusted ones have none. */
  readonly #budgets = new Map<string, TimeBudget>();

  constructor(enforceAll: () => boolean) {
    this.#enforceAll = enforceAll;
  }

  checkFor({ format, wanted, principal }: FormatRequest): FormatCheck | undefined {
    if (wanted === false || (format === undefined && wanted === undefined)) return undefined;
    const budget = principal.isTrusted ? undefined : this.#budgetOf(principal);
    return new Check({
      budget,
      isWanted: () => wanted ?? this.#enforceAll(),
      // Compiled at once if the registration requested it, so that its response can report a problem.
      compileNow: wanted === true,
      compile: () => this.#compile(format, budget),
    });
  }

  #budgetOf({ id }: Principal): TimeBudget {
    const known = this.#budgets.get(id);
    if (known !== undefined) return known;
    const made = new TimeBudget();
    if (this.#budgets.size >= KEPT_BUDGETS) this.#budgets.delete(this.#budgets.keys().next().value ?? "");
    this.#budgets.set(id, made);
    return made;
  }

  #compile(format: unknown, budget: TimeBudget | undefined): CompiledOrLater {
    if (format === undefined) return { problem: "there is none" };
    const { problem, isCostly } = inspectFormat(format);
    if (problem !== undefined) return { problem };
    const patterns = budget === undefined ? "native" : "linear";
    const key = `${patterns} ${createHash("sha256").update(JSON.stringify(format)).digest("base64")}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    if (budget?.isSpent(performance.now())) return "later";
    let compiled: Compiled;
    // Loaded outside the time limit, which applies to this format alone.
    const load = (): void => void validator(patterns);
    load();
    const startedAt = performance.now();
    try {
      const validate = withinTime(
        budget === undefined ? COMPILE_MS : CHECK_MS,
        () => compileSchema(format, patterns),
        load,
      );
      compiled = { validate, isCostly, pausedUntil: 0 };
    } catch (error) {
      compiled = { problem: (error as Error).message };
    }
    budget?.spend(performance.now() - startedAt, performance.now());
    if (this.#compiled.size >= KEPT_FORMATS) this.#compiled.delete(this.#compiled.keys().next().value ?? "");
    this.#compiled.set(key, compiled);
    return compiled;
  }
}

class Check implements FormatCheck {
  readonly #budget: TimeBudget | undefined;
  readonly #isWanted: () => boolean;
  readonly #compile: () => CompiledOrLater;
  #compiled: Compiled | undefined;

  constructor(options: {
    readonly budget: TimeBudget | undefined;
    readonly isWanted: () => boolean;
    readonly compileNow: boolean;
    readonly compile: () => CompiledOrLater;
  }) {
    this.#budget = options.budget;
    this.#isWanted = options.isWanted;
    this.#compile = options.compile;
    if (options.compileNow) this.#compileNow();
  }

  isOn(): boolean {
    return this.#isWanted() && this.problem === undefined;
  }

  get problem(): string | undefined {
    return this.#compiled !== undefined && "problem" in this.#compiled ? this.#compiled.problem : undefined;
  }

  problemOf(payload: Payload, what: string): CallError | undefined {
    const compiled = this.#compiled ?? this.#compileNow();
    if (compiled === undefined) return this.#outOfTime(what);
    if ("problem" in compiled) return undefined;
    let value: unknown;
    try {
      value = payload.value();
    } catch (thrown) {
      return CallError.from(thrown);
    }
    const { validate } = compiled;
    const isLimited = this.#budget !== undefined || compiled.isCostly || payload.byteLength > LARGE_BYTES;
    const startedAt = isLimited ? performance.now() : 0;
    if (isLimited && startedAt < compiled.pausedUntil) {
      return new CallError(
        "overloaded",
        `${what}: payloads are not checked just now, because one took longer than ${CHECK_MS} ms; try again`,
      );
    }
    if (this.#budget?.isSpent(startedAt)) return this.#outOfTime(what);
    try {
      if (isLimited ? withinTime(CHECK_MS, () => validate(value)) : validate(value)) return undefined;
    } catch (error) {
      if (error instanceof TimeLimitError) compiled.pausedUntil = performance.now() + PAUSE_MS;
      const why =
        error instanceof TimeLimitError
          ? `checking it takes longer than ${CHECK_MS} ms`
          : `it cannot be checked: ${(error as Error).message}`;
      return new CallError("invalid_input", `${what}: ${why}`, { details: { problems: [] } });
    } finally {
      this.#budget?.spend(performance.now() - startedAt, performance.now());
    }
    const problems = (validate.errors ?? []).map(mismatchOf);
    // The validator keeps the errors of its last run, which contain parts of the payload.
    validate.errors = null;
    const text = problems
      .map(({ path, expected }) => `${path === "" ? "the payload" : path} must ${expected}`)
      .join("; ");
    return new CallError("invalid_input", `${what}: ${text}`, { details: { problems } });
  }

  /** Compiles the format. Returns undefined if the principal's time is spent. */
  #compileNow(): Compiled | undefined {
    const compiled = this.#compile();
    if (compiled !== "later") this.#compiled = compiled;
    return this.#compiled;
  }

  #outOfTime(what: string): CallError {
    return new CallError(
      "overloaded",
      `${what}: payloads are not checked just now, because the formats of its principal took too much time; try again`,
    );
  }
}
