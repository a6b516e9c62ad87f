import { CircleCheck, TriangleAlert } from "lucide-react";
import { t } from "../../labels/translate.ts";
import type { Check } from "../../lib/check-payload.ts";

/** Result of the validation. It is shown below the editor. */
export function CheckResult({ check }: { readonly check: Check | undefined }) {
  if (check === undefined || (check.kind === "unchecked" && check.reason === undefined)) return null;
  if (check.kind === "fits") {
    return (
      <p className="inline-flex items-center gap-1.5 text-ok">
        <CircleCheck aria-hidden className="size-3.5" />
        {t`Matches the schema`}
      </p>
    );
  }
  if (check.kind === "unchecked") return <p className="text-ink-2">{check.reason}</p>;
  const lines = check.kind === "syntax" ? [{ pointer: undefined, message: check.message }] : check.problems;
  return (
    <ul aria-label={t`Problems of the input`} className="flex flex-col gap-0.5 text-warn">
      {lines.map(({ pointer, message }) => (
        <li key={`${pointer} ${message}`} className="flex items-start gap-1.5">
          <TriangleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
          {pointer !== undefined && <code className="break-all">{pointer === "" ? "(whole)" : pointer}</code>}
          <span className="min-w-0 break-words">{message}</span>
        </li>
      ))}
    </ul>
  );
}
