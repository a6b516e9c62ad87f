import { useQuery } from "@tanstack/react-query";

/**
 * Describes a cron expression, e.g. `At 09:00, only on Monday`. Returns undefined if it is invalid. Loads the library
 * on first use.
 */
export async function cronText(expression: string): Promise<string | undefined> {
  const { default: cronstrue } = await import("cronstrue");
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return undefined;
  }
}

/** Describes a cron expression like `cronText`. Returns undefined while it is loading too. */
export function useCronText(expression: string): string | undefined {
  return (
    useQuery({
      queryKey: ["cron-text", expression],
      queryFn: async () => (await cronText(expression)) ?? null,
      staleTime: Number.POSITIVE_INFINITY,
    }).data ?? undefined
  );
}
