import { keepPreviousData, useQuery } from "@tanstack/react-query";

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

const NO_TEXTS: ReadonlyMap<string, string> = new Map();

/** Describes several cron expressions; the result lacks invalid ones, and is empty while it is loading. */
export function useCronTexts(expressions: readonly string[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(expressions)].sort();
  return (
    useQuery({
      queryKey: ["cron-texts", wanted],
      enabled: wanted.length > 0,
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: keepPreviousData,
      queryFn: async () => {
        const texts = await Promise.all(wanted.map(async (each) => [each, await cronText(each)] as const));
        return new Map(texts.flatMap(([each, text]) => (text === undefined ? [] : [[each, text] as const])));
      },
    }).data ?? NO_TEXTS
  );
}
