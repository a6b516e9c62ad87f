import { CircleAlert, Radio } from "lucide-react";
import { t } from "../labels/translate.ts";
import { useLiveState } from "../lib/use-live.ts";
import { Timestamp, useNow } from "./time.tsx";

/**
 * Shows the time of the last update. The data is marked as out of date if the page is not live, or if the data is older
 * than twice its interval.
 */
export function LastUpdate({
  asOfMs,
  intervalMs,
}: {
  readonly asOfMs: number | undefined;
  readonly intervalMs?: number | undefined;
}) {
  const { phase } = useLiveState();
  const now = useNow();
  if (asOfMs === undefined) return <span className="text-ink-3">{t`Not updated yet`}</span>;
  const isStale = phase !== "live" || (intervalMs !== undefined && now - asOfMs > 2 * intervalMs + 1_000);
  return (
    <span
      className={isStale ? "inline-flex items-center gap-1.5 text-warn" : "inline-flex items-center gap-1.5 text-ink-3"}
    >
      {isStale ? <CircleAlert aria-hidden className="size-3.5" /> : <Radio aria-hidden className="size-3.5" />}
      <span>
        {isStale ? t`Stale, as of ` : t`Last update `}
        <Timestamp ms={asOfMs} withMs={false} />
        {!isStale && t` · live`}
      </span>
    </span>
  );
}
