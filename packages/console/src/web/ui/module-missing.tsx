import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { ApiFailure } from "../lib/api.ts";
import { EmptyState } from "./data-region.tsx";

/** Returns true if a call failed because the module of the function is not configured. */
export function isModuleMissing(error: Error | null | undefined): boolean {
  return error instanceof ApiFailure && error.code === "function_not_found";
}

/** Shows the lines of the config that enable the module that a page needs. */
export function ModuleMissing({ module, what }: { readonly module: string; readonly what: string }) {
  return (
    <EmptyState title={t`${what} is not enabled`} snippet={`workers:\n  - name: ${module}`}>
      {rich`The engine runs without the module ${<code>{module}</code>}. Add these lines to its ${<code>config.yaml</code>}; the engine applies them at once.`}
    </EmptyState>
  );
}
