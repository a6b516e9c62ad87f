import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import type { ImportPlan } from "./ndjson.ts";

const SHOWN = 20;

/** Report of the dry run, which compares the file with the stored items. */
export function ImportReport({
  plan,
  overwrites,
  onOverwrites,
}: {
  readonly plan: ImportPlan;
  readonly overwrites: boolean;
  readonly onOverwrites: (overwrites: boolean) => void;
}) {
  const count = (effect: string): number => plan.planned.filter((line) => line.effect === effect).length;
  const changed = plan.planned.filter(({ effect }) => effect === "changed");
  const groups = new Set(plan.planned.map(({ line }) => line.scope)).size;
  return (
    <section aria-label={t`Import report`} className="flex flex-col gap-2">
      <p>
        {groups === 1
          ? rich`${<strong className="break-all">{plan.file}</strong>}: ${plan.planned.length} items of one group`
          : rich`${<strong className="break-all">{plan.file}</strong>}: ${plan.planned.length} items of ${groups} groups`}
      </p>
      <ul className="grid grid-cols-[auto_1fr] gap-x-3">
        <Row count={count("new")} what={t`new`} />
        <Row count={changed.length} what={t`in conflict: stored with a different value`} />
        <Row count={count("same")} what={t`already stored with the same value`} />
        <Row count={count("expired")} what={t`expired, skipped`} />
        <Row count={plan.bad.length} what={t`invalid lines`} />
      </ul>
      {plan.bad.length > 0 && (
        <div role="alert" className="text-danger">
          {t`Fix these lines first; nothing is stored:`}
          <ul className="list-disc pl-5">
            {plan.bad.slice(0, SHOWN).map(({ number, problem }) => (
              <li key={number} className="break-words">
                {t`line ${String(number)}: ${problem}`}
              </li>
            ))}
          </ul>
        </div>
      )}
      {changed.length > 0 && (
        <>
          <label className="flex items-center gap-2">
            <input type="checkbox" checked={overwrites} onChange={(event) => onOverwrites(event.target.checked)} />
            {t`Replace the ${changed.length} in conflict; otherwise they stay unchanged`}
          </label>
          <ScrollArea label={t`In conflict`} className="max-h-32 rounded-md bg-raised p-2 font-mono text-[12px]">
            <ul>
              {changed.slice(0, SHOWN).map(({ line }) => (
                <li key={line.number} className="break-all">
                  {line.scope} / {line.key}
                </li>
              ))}
              {changed.length > SHOWN && <li>{t`and ${changed.length - SHOWN} more`}</li>}
            </ul>
          </ScrollArea>
        </>
      )}
    </section>
  );
}

function Row({ count, what }: { readonly count: number; readonly what: string }) {
  return (
    <li className="contents">
      <span className="text-right font-mono tabular-nums">{count}</span>
      <span className={count === 0 ? "text-ink-3" : undefined}>{what}</span>
    </li>
  );
}
