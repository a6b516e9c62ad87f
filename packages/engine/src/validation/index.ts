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
 * CHECK_MS: time limit of one check. COMPILE_MS: time limit of one compilation. Both in milliseconds. They are long
 * because a busy machine takes many times longer than an idle one.
 */
const CHECK_MS = 250;
const COMPILE_MS = 2_000;
/**
 * Pause of a format after it exceeded the limit, in milliseconds. So a format takes at most a tenth of the engine's
 * time.
 */
const PAUSE_MS = 10 * CHECK_MS;
/** Values that are larger than this, in bytes, are checked under the time limit, whatever their format is. */
const LARGE_BYTES = 64 * 1024;
/** Maximum number of compiled formats in the cache. Above it, the oldest one is removed. */
const KEPT_FORMATS = 1_000;
/** Maximum number of restricted principals whose time is counted. Above it, the oldest one is removed. */
const KEPT_BUDGETS = 10_000;

interface Validator {
  readonly validate: ReturnType<typeof compileSchema>;
  readonly isCostly: boolean;
  /** Time until which payloads are not checked, on the monotonic clock, in milliseconds. */
  pausedUntil: number;
}

type Compiled = Validator | { readonly problem: string };
/** `later`: the principal of the format has no time left at the moment. The format is compiled when it is needed. */
type CompiledOrLater = Compiled | "later";

/**
 * Validates payloads by JSON Schema. `enforceAll` returns the engine's setting. It applies to registrations that do not
 * choose by themselves.
 */
export class JsonSchemaChecks implements FormatChecks {
  readonly #enforceAll: () => boolean;
  /** Compiled formats by hash, because the replicas of a worker register the same formats. */
  readonly #compiled = new Map<string, Compiled>();
  /** Budgets by principal. Trusted principals have none. */
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
      // Compile now if the registration requested the check, so that the response to the registration can report a
      // problem.
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
    // Load the validator outside the time limit, because the limit is only for this format.
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
    // Clear the errors, because they contain parts of the payload and the validator keeps those of its last run.
    validate.errors = null;
    const text = problems
      .map(({ path, expected }) => `${path === "" ? "the payload" : path} must ${expected}`)
      .join("; ");
    return new CallError("invalid_input", `${what}: ${text}`, { details: { problems } });
  }

  /** Compiles the format. Returns undefined if the principal has no time left. */
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
