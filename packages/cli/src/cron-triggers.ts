import type { Worker } from "@svc-runtime/sdk";

export interface CronTrigger {
  readonly trigger_id: string;
  readonly function_id: string;
  readonly expression: string;
  readonly timezone: string;
  readonly status: string;
  readonly reason?: string;
  readonly next_runs: readonly string[];
  readonly last_run?: { readonly started_at: string | null; readonly outcome: string | null; readonly error?: string };
}

/** Returns all triggers of type cron, page by page. */
export async function listCronTriggers(engine: Worker): Promise<readonly CronTrigger[]> {
  const triggers: CronTrigger[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly triggers: readonly CronTrigger[]; readonly cursor: string | null } = await engine.call({
      function_id: "cron::list",
      payload: { cursor },
    });
    triggers.push(...page.triggers);
    cursor = page.cursor;
  } while (cursor !== null);
  return triggers;
}
