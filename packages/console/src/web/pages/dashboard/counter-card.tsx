import { t } from "../../labels/translate.ts";
import { HrefLink } from "../../ui/href-link.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";

export interface CounterCardProps {
  readonly name: string;
  readonly href: string;
  /** Undefined while the value is loading. Null if the engine is unreachable and the value was never loaded. */
  readonly value: string | undefined | null;
  readonly note?: string | undefined;
  /** Samples, the oldest first. Undefined while they are loading. */
  readonly samples: readonly (number | null)[] | undefined;
  readonly isBad?: boolean;
}

/** A number with a sparkline. It links to the page that lists the counted objects. */
export function CounterCard({ name, href, value, note, samples, isBad = false }: CounterCardProps) {
  return (
    <HrefLink
      href={href}
      className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-surface p-3 last:col-span-2 hover:border-line-strong sm:last:col-span-1"
    >
      <span className="truncate text-ink-2">{name}</span>
      <span
        className={isBad ? "font-semibold text-[22px] text-danger leading-7" : "font-semibold text-[22px] leading-7"}
      >
        {value === null ? (
          <>
            <span aria-hidden>–</span>
            <span className="sr-only">{t`unknown`}</span>
          </>
        ) : (
          (value ?? (
            <span className="inline-block h-5 w-10 animate-pulse rounded bg-raised">
              <span className="sr-only">{t`loading`}</span>
            </span>
          ))
        )}
      </span>
      <span className="flex h-6 items-end">
        {value !== null && samples !== undefined && (
          <Sparkline
            values={samples}
            text={t`${name}, last minutes`}
            tone={isBad ? "danger" : "accent"}
            className="w-full"
          />
        )}
      </span>
      <span className="h-4 truncate text-[11px] text-ink-3 leading-4" title={note}>
        {note}
      </span>
    </HrefLink>
  );
}
