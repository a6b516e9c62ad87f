import { ApiFailure } from "../lib/api.ts";
import { EmptyState } from "./data-region.tsx";

/** Whether a call failed because nothing provides the function: its module is not in the config. */
export function isModuleMissing(error: Error | null | undefined): boolean {
  return error instanceof ApiFailure && error.code === "function_not_found";
}

/** Says which lines of the config bring the module that a page needs (decision 38). */
export function ModuleMissing({ module, what }: { readonly module: string; readonly what: string }) {
  return (
    <EmptyState title={`${what} is not switched on`} snippet={`workers:\n  - name: ${module}`}>
      The engine runs without the module <code>{module}</code>. Add these lines to its <code>config.yaml</code>; the engine takes them up by itself.
    </EmptyState>
  );
}
