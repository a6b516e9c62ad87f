import { useQuery } from "@tanstack/react-query";
import type { Hello } from "../../contract/api.ts";
import { hello } from "../lib/api.ts";

/** Returns information about the console, or undefined until it is loaded. */
export function useHello(): Hello | undefined {
  return useQuery({ queryKey: ["hello"], queryFn: hello, staleTime: Number.POSITIVE_INFINITY }).data;
}

/** Returns why changes are not possible now, for `disabledReason`, or undefined if they are. */
export function useWriteRefusal(phase: string): string | undefined {
  const facts = useHello();
  if (facts?.read_only === true) return "This console is read-only: it was started with --read-only";
  if (phase === "live") return undefined;
  return phase === "engine-away" ? "The engine cannot be reached" : "The console's server cannot be reached";
}
