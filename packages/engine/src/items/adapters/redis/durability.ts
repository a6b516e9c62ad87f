import type { LogFields } from "../../../kernel/logger.ts";
import type { Durability } from "../../item-store.ts";

/** What a server's settings mean for what is written there. */
export interface ServerSettings {
  readonly durability: Durability;
  /** Undefined: the server does not let us read its settings. */
  readonly appendonly: string | undefined;
  readonly appendfsync: string | undefined;
  /** True: when its memory is full, the server drops items. */
  readonly evicts: boolean;
}

/** Reads the settings by CONFIG GET, which may be forbidden: then nothing is promised. */
export async function readDurability(configGet: (name: string) => Promise<unknown>): Promise<ServerSettings> {
  async function setting(name: string): Promise<string | undefined> {
    const reply = await configGet(name).catch(() => undefined);
    const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
    return typeof value === "string" ? value : undefined;
  }
  const appendonly = await setting("appendonly");
  const appendfsync = await setting("appendfsync");
  const policy = await setting("maxmemory-policy");
  return { durability: durabilityOf(appendonly, appendfsync), appendonly, appendfsync, evicts: policy?.startsWith("allkeys-") ?? false };
}

function durabilityOf(appendonly: string | undefined, appendfsync: string | undefined): Durability {
  if (appendonly !== "yes") return "memory";
  if (appendfsync === "always") return "durable";
  return appendfsync === "everysec" ? "relaxed" : "memory";
}

/** What an operator should know about the settings. */
export function warningsOf(found: ServerSettings): { readonly message: string; readonly fields: LogFields }[] {
  const warnings: { readonly message: string; readonly fields: LogFields }[] = [];
  const { durability, appendonly, appendfsync } = found;
  if (durability !== "durable") {
    const fix = "set `appendonly yes` and `appendfsync always` in redis.conf, or by CONFIG SET and CONFIG REWRITE";
    warnings.push({
      message: MEANING[appendonly === undefined ? "unknown" : durability],
      fields: { appendonly: appendonly ?? "unknown", appendfsync: appendfsync ?? "unknown", fix },
    });
  }
  if (found.evicts) {
    const fix = "set `maxmemory-policy noeviction`";
    warnings.push({ message: "this Redis drops items when its memory is full", fields: { fix } });
  }
  return warnings;
}

const MEANING = {
  unknown: "this Redis does not tell how durable it is; writes are answered as if it kept them in memory only",
  memory: "this Redis keeps what was written in memory only; it is lost when the server ends",
  relaxed: "this Redis may lose the last second of writes in a power cut",
};
