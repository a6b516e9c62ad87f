import { createHash } from "node:crypto";
import { CallError, type Payload } from "@svc/protocol";
import type { FormatCheck, FormatChecks, FormatRequest } from "../kernel/format-check.ts";
import { compileSchema, validator } from "./compiler.ts";
import { inspectFormat } from "./limits.ts";
import { misfitOf } from "./misfit.ts";
import { TimeLimitError, withinTime } from "./time-limit.ts";

/** How long one check, or one compilation, may hold up the engine, in milliseconds; a busy machine takes many times what an idle one does. */
const CHECK_MS = 250;
const COMPILE_MS = 2_000;
/** How long a format that ran into the limit is not tried again, in milliseconds: then it can take a tenth of the engine's time at most. */
const PAUSE_MS = 10 * CHECK_MS;
/** Values above this size are checked under the time limit whatever the format, in bytes. */
const LARGE_BYTES = 64 * 1024;
/** Compiled formats that are kept; the one that was made first goes. */
const KEPT_FORMATS = 1_000;

interface Validator {
  readonly validate: ReturnType<typeof compileSchema>;
  readonly isCostly: boolean;
  /** On the monotonic clock, milliseconds. */
  pausedUntil: number;
}

type Compiled = Validator | { readonly problem: string };

/** Checks payloads by JSON Schema. `enforceAll` is the engine's setting for registrations that say nothing themselves. */
export class JsonSchemaChecks implements FormatChecks {
  readonly #enforceAll: () => boolean;
  /** By the hash of the format: replicas bring the same ones. */
  readonly #compiled = new Map<string, Compiled>();

  constructor(enforceAll: () => boolean) {
    this.#enforceAll = enforceAll;
  }

  checkFor({ format, wanted }: FormatRequest): FormatCheck | undefined {
    if (wanted === false || (format === undefined && wanted === undefined)) return undefined;
    return new Check({
      format,
      isWanted: () => wanted ?? this.#enforceAll(),
      // Known at once where the registration asked, so that the answer to it can say so.
      compileNow: wanted === true,
      compile: () => this.#compile(format),
    });
  }

  #compile(format: unknown): Compiled {
    if (format === undefined) return { problem: "there is none" };
    const { problem, isCostly } = inspectFormat(format);
    if (problem !== undefined) return { problem };
    const key = createHash("sha256").update(JSON.stringify(format)).digest("base64");
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    let compiled: Compiled;
    // Loaded outside the limit, which is for what this format costs.
    validator();
    try {
      compiled = { validate: withinTime(COMPILE_MS, () => compileSchema(format)), isCostly, pausedUntil: 0 };
    } catch (error) {
      compiled = { problem: (error as Error).message };
    }
    if (this.#compiled.size >= KEPT_FORMATS) this.#compiled.delete(this.#compiled.keys().next().value ?? "");
    this.#compiled.set(key, compiled);
    return compiled;
  }
}

class Check implements FormatCheck {
  readonly #isWanted: () => boolean;
  readonly #compile: () => Compiled;
  #compiled: Compiled | undefined;

  constructor(options: { readonly format: unknown; readonly isWanted: () => boolean; readonly compileNow: boolean; readonly compile: () => Compiled }) {
    this.#isWanted = options.isWanted;
    this.#compile = options.compile;
    if (options.compileNow) this.#compiled = options.compile();
  }

  isOn(): boolean {
    return this.#isWanted() && this.problem === undefined;
  }

  get problem(): string | undefined {
    return this.#compiled !== undefined && "problem" in this.#compiled ? this.#compiled.problem : undefined;
  }

  problemOf(payload: Payload, what: string): CallError | undefined {
    this.#compiled ??= this.#compile();
    const compiled = this.#compiled;
    if ("problem" in compiled) return undefined;
    let value: unknown;
    try {
      value = payload.value();
    } catch (thrown) {
      return CallError.from(thrown);
    }
    const { validate } = compiled;
    const isLimited = compiled.isCostly || payload.byteLength > LARGE_BYTES;
    if (isLimited && performance.now() < compiled.pausedUntil) {
      return new CallError("overloaded", `${what}: payloads are not checked just now, because one took longer than ${CHECK_MS} ms; try again`);
    }
    try {
      if (isLimited ? withinTime(CHECK_MS, () => validate(value)) : validate(value)) return undefined;
    } catch (error) {
      if (error instanceof TimeLimitError) compiled.pausedUntil = performance.now() + PAUSE_MS;
      const why = error instanceof TimeLimitError ? `checking it takes longer than ${CHECK_MS} ms` : `it cannot be checked: ${(error as Error).message}`;
      return new CallError("invalid_input", `${what}: ${why}`, { details: { problems: [] } });
    }
    const problems = (validate.errors ?? []).map(misfitOf);
    // The validator keeps the errors of its last run, and with them parts of the payload.
    validate.errors = null;
    const text = problems.map(({ path, expected }) => `${path === "" ? "the payload" : path} must ${expected}`).join("; ");
    return new CallError("invalid_input", `${what}: ${text}`, { details: { problems } });
  }
}
