import { readFile, rename } from "node:fs/promises";
import type { Logger } from "@svc-runtime/engine/module";
import { replaceWhole } from "@svc-runtime/engine/store";
import { z } from "zod";
import { type AlertRule, alertRuleSchema } from "../config.ts";

const overrideSchema = z.looseObject({
  name: z.string(),
  /** Overrides `enabled` of a config rule. */
  enabled: z.boolean().optional(),
  /** Milliseconds since 1970. */
  silenced_until: z.number().optional(),
});
export type AlertOverride = Pick<z.infer<typeof overrideSchema>, "name" | "enabled" | "silenced_until">;

/**
 * The restricted caller that set a rule's action. `provider` is the restricted principal that provided the action's
 * function at that time.
 */
const makerSchema = z.looseObject({
  principal: z.string(),
  role: z.string().optional(),
  provider: z.string().optional(),
});
export type AlertMaker = Pick<z.infer<typeof makerSchema>, "principal" | "role" | "provider">;

/**
 * `made_by` is undefined if a trusted caller set the action. `of_restricted` is an older form of `made_by`, without the
 * role.
 */
const savedRuleSchema = z.looseObject({
  ...alertRuleSchema.shape,
  made_by: makerSchema.optional(),
  of_restricted: z.boolean().optional(),
});
export type SavedRule = AlertRule & {
  readonly made_by?: AlertMaker | undefined;
  readonly of_restricted?: boolean | undefined;
};

/**
 * Keeps unknown members: a newer engine version wrote them and may run again. They do not mean that the file is
 * damaged.
 */
const fileSchema = z.looseObject({
  version: z.literal(1),
  rules: z.array(savedRuleSchema).max(1_000),
  overrides: z.array(overrideSchema).max(2_000),
});

export interface SavedRules {
  readonly rules: readonly SavedRule[];
  readonly overrides: readonly AlertOverride[];
}

const NONE: SavedRules = { rules: [], overrides: [] };

/** Returns the path to which a damaged rules file is renamed. */
export function damagedPathOf(file: string): string {
  return `${file}.damaged`;
}

/** File with the rules made at run time, and with overrides of config rules. */
export class RulesFile {
  readonly #file: string;
  readonly #log: Logger;
  /** Members of the file that this engine does not know. */
  #others: Readonly<Record<string, unknown>> = {};

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** Reads the file. A damaged file is renamed rather than overwritten, and the engine starts without it. */
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
    const aside = damagedPathOf(this.#file);
    await rename(this.#file, aside);
    this.#log.error(
      "the file with alert rules made at run time is damaged and was renamed; rules of the config still apply",
      {
        file: aside,
        problem: parsed.error.message,
      },
    );
    return NONE;
  }

  /** Resolves when the file is on disk. Rejects with `storage_failed`. Calls must not overlap. */
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
