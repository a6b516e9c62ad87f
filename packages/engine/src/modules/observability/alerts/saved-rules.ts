import { readFile, rename } from "node:fs/promises";
import { z } from "zod";
import type { Logger } from "../../../kernel/logger.ts";
import { replaceWhole } from "../../../store/whole-file.ts";
import { type AlertRule, alertRuleSchema } from "../config.ts";

/** What was decided at run time about one alert. */
const overrideSchema = z.looseObject({
  name: z.string(),
  /** Of a rule of the config: switched off or on all the same. */
  enabled: z.boolean().optional(),
  /** Milliseconds since 1970. */
  silenced_until: z.number().optional(),
});
export type AlertOverride = Pick<z.infer<typeof overrideSchema>, "name" | "enabled" | "silenced_until">;

/** The restricted caller that set a rule's action. `provider`: the restricted principal that provided the action's function then. */
const makerSchema = z.looseObject({ principal: z.string(), role: z.string().optional(), provider: z.string().optional() });
export type AlertMaker = Pick<z.infer<typeof makerSchema>, "principal" | "role" | "provider">;

/** `made_by`: undefined if a trusted caller set the action. `of_restricted`: older form of it, without the role. */
const savedRuleSchema = z.looseObject({ ...alertRuleSchema.shape, made_by: makerSchema.optional(), of_restricted: z.boolean().optional() });
export type SavedRule = AlertRule & { readonly made_by?: AlertMaker | undefined; readonly of_restricted?: boolean | undefined };

/** Members that a newer engine added are kept: a file that has some is not damaged, and the newer engine may come back. */
const fileSchema = z.looseObject({ version: z.literal(1), rules: z.array(savedRuleSchema).max(1_000), overrides: z.array(overrideSchema).max(2_000) });

export interface SavedRules {
  readonly rules: readonly SavedRule[];
  readonly overrides: readonly AlertOverride[];
}

const NONE: SavedRules = { rules: [], overrides: [] };

/** Where a file of rules is put that cannot be read. */
export function asideOf(file: string): string {
  return `${file}.damaged`;
}

/** Rules made at run time, and what was decided about those of the config. */
export class RulesFile {
  readonly #file: string;
  readonly #log: Logger;
  /** Members of the file that this engine does not know. */
  #others: Readonly<Record<string, unknown>> = {};

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** What cannot be read is put aside rather than written over, and the engine starts without it. */
  async read(): Promise<SavedRules> {
    let text: string;
    try {
      text = await readFile(this.#file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return NONE;
      throw new Error(`the alert rules in ${this.#file} cannot be read: ${(error as Error).message}`, { cause: error });
    }
    const parsed = fileSchema.safeParse(jsonOf(text));
    if (parsed.success) {
      const { version: _version, rules, overrides, ...others } = parsed.data;
      this.#others = others;
      return { rules, overrides };
    }
    const aside = asideOf(this.#file);
    await rename(this.#file, aside);
    this.#log.error("the alert rules made at run time are damaged and were put aside; those of the config stay", {
      file: aside,
      problem: parsed.error.message,
    });
    return NONE;
  }

  /** Resolves when they are on the disk. Rejects with `storage_failed`. One at a time. */
  async write(saved: SavedRules): Promise<void> {
    await replaceWhole(this.#file, `${JSON.stringify({ version: 1, ...saved, ...this.#others }, null, 2)}\n`);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
