import type { LogFields } from "../../../kernel/logger.ts";
import type { Durability } from "../../item-store.ts";

/** Settings of a Redis server that affect stored data. */
export interface ServerSettings {
  readonly durability: Durability;
  /** Undefined if the server does not allow reading its settings. */
  readonly appendonly: string | undefined;
  readonly appendfsync: string | undefined;
  /** True if the server evicts items when its memory is full. */
  readonly evicts: boolean;
}

/** Reads the settings with CONFIG GET. If that is not permitted, the durability is `memory`. */
export async function readDurability(configGet: (name: string) => Promise<unknown>): Promise<ServerSettings> {
  async function setting(name: string): Promise<string | undefined> {
    const reply = await configGet(name).catch(() => undefined);
    const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
    return typeof value === "string" ? value : undefined;
  }
  const appendonly = await setting("appendonly");
  const appendfsync = await setting("appendfsync");
  const policy = await setting("maxmemory-policy");
  return {
    durability: durabilityOf(appendonly, appendfsync),
    appendonly,
    appendfsync,
    evicts: policy?.startsWith("allkeys-") ?? false,
  };
}

function durabilityOf(appendonly: string | undefined, appendfsync: string | undefined): Durability {
  if (appendonly !== "yes") return "memory";
  if (appendfsync === "always") return "durable";
  return appendfsync === "everysec" ? "relaxed" : "memory";
}

/** Returns warnings for the log about these settings. */
export function warningsOf(found: ServerSettings): { readonly message: string; readonly fields: LogFields }[] {
  const warnings: { readonly message: string; readonly fields: LogFields }[] = [];
  const { durability, appendonly, appendfsync } = found;
  if (durability !== "durable") {
    const fix = "set `appendonly yes` and `appendfsync always` in redis.conf, or use CONFIG SET and CONFIG REWRITE";
    warnings.push({
      message: MEANING[appendonly === undefined ? "unknown" : durability],
      fields: { appendonly: appendonly ?? "unknown", appendfsync: appendfsync ?? "unknown", fix },
    });
  }
  if (found.evicts) {
    const fix = "set `maxmemory-policy noeviction`";
    warnings.push({ message: "this Redis evicts items when its memory is full", fields: { fix } });
  }
  return warnings;
}

const MEANING = {
  unknown: "the durability of this Redis is unknown; writes are reported as kept in memory only",
  memory: "this Redis keeps writes in memory only; they are lost when the server stops",
  relaxed: "this Redis may lose the last second of writes in a power cut",
};
