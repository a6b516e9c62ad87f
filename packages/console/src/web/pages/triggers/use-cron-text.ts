import { useQuery } from "@tanstack/react-query";
import { cronText } from "./cron-text.ts";

/** The expression in words; undefined while that is loaded, and when it cannot be said. */
export function useCronText(expression: string): string | undefined {
  return (
    useQuery({ queryKey: ["cron-text", expression], queryFn: async () => (await cronText(expression)) ?? null, staleTime: Number.POSITIVE_INFINITY }).data ??
    undefined
  );
}
