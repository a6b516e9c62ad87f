import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { usePolledCall } from "../../../lib/use-polled-call.ts";
import type { StoreFigures } from "../../../model/store-figures.ts";
import { PopoverButton } from "../../../ui/popover.tsx";
import { Ago, Timestamp } from "../../../ui/time.tsx";
import { type Retention, retentionOf } from "../model/retention.ts";

const EVERY_MS = 30_000;

/** Says since when all traces are stored, and how to store traces for longer. */
export function RetentionNote() {
  const { data } = usePolledCall<{ readonly spans: StoreFigures | null }>("engine::telemetry::status", [], () => ({}), {
    everyMs: EVERY_MS,
  });
  const retention = retentionOf(data?.spans);
  if (retention === undefined) return null;
  return (
    <>
      <p>
        <Reach {...retention} />
      </p>
      <PopoverButton
        look="ghost"
        className="h-6 text-[12px]"
        opens={{
          label: t`How to keep traces longer`,
          className: "max-w-sm p-3 text-[13px] text-ink-2",
          content: () => <p>{retention.extension}</p>,
        }}
      >
        {t`Keep longer`}
      </PopoverButton>
    </>
  );
}

function Reach({ sinceMs, failedSinceMs }: Retention) {
  if (sinceMs === undefined) return t`No trace has been evicted yet`;
  return (
    <>
      {rich`All traces since ${<Timestamp ms={sinceMs} withMs={false} />} (${<Ago ms={sinceMs} />})`}
      {failedSinceMs !== undefined &&
        rich`, failed and slow ones since ${<Timestamp ms={failedSinceMs} withMs={false} />}`}
    </>
  );
}
