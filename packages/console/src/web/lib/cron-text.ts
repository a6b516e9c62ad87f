import { keepPreviousData, useQuery } from "@tanstack/react-query";

/**
 * Describes a cron expression, for example `At 09:00, only on Monday`. Returns undefined if it is invalid. The library
 * is loaded when this is first called.
 */
export async function cronText(expression: string): Promise<string | undefined> {
  const { default: cronstrue } = await import("cronstrue");
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return undefined;
  }
}

/** Describes a cron expression, like `cronText`. Also returns undefined while the library is loading. */
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

/**
 * Describes several cron expressions. Invalid ones are not in the result. The result is empty while the library is
 * loading.
 */
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
