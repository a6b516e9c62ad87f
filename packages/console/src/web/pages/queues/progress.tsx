import { t } from "../../labels/translate.ts";
import type { Job } from "./model.ts";

/** Progress of a running job, as its handler reported it. */
export function Progress({ progress: { value, note } }: { readonly progress: NonNullable<Job["progress"]> }) {
  const percent = `${Math.floor(value * 100)} %`;
  return (
    <span className="flex min-w-0 items-center gap-2" title={note ?? undefined}>
      <progress aria-label={t`Progress`} value={value} max={1} className="h-1.5 w-12 shrink-0 accent-accent" />
      <span className="tabular-nums">{percent}</span>
      {note !== null && <span className="truncate text-ink-2">{note}</span>}
    </span>
  );
}
