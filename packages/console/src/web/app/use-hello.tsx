import { useQuery } from "@tanstack/react-query";
import type { Hello } from "../../contract/api.ts";
import { t } from "../labels/translate.ts";
import { hello } from "../lib/api.ts";

/** Returns information about the console, or undefined until it is loaded. */
export function useHello(): Hello | undefined {
  return useQuery({ queryKey: ["hello"], queryFn: hello, staleTime: Number.POSITIVE_INFINITY }).data;
}

/**
 * Returns the reason why changes are not possible now. Returns undefined if they are possible. It is used as
 * `disabledReason`.
 */
export function useWriteRefusal(phase: string): string | undefined {
  const facts = useHello();
  if (facts?.read_only === true) return t`This console is read-only: it was started with --read-only`;
  if (phase === "live") return undefined;
  return phase === "engine-away" ? t`The engine cannot be reached` : t`The console's server cannot be reached`;
}
