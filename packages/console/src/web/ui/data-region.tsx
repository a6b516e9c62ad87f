import { type ReactNode, useEffect, useState } from "react";
import { t } from "../labels/translate.ts";
import { ApiFailure } from "../lib/api.ts";
import { useLiveState } from "../lib/use-live.ts";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { CopyButton } from "./copy-button.tsx";
import { ScrollArea } from "./scroll-area.tsx";
import { isUnreachable, Unreachable } from "./unreachable.tsx";

/** Delay before the skeleton is shown, in milliseconds. It prevents that the skeleton flashes when data loads fast. */
const SKELETON_AFTER_MS = 150;

export interface DataRegionProps {
  /** True until the first response has arrived. */
  readonly loading: boolean;
  readonly error?: Error | null | undefined;
  /** True if the response was successful and empty. */
  readonly empty: boolean;
  /** Filters that hide all data. `clear` removes them. */
  readonly filtered?: { readonly what: string; readonly clear: () => void } | undefined;
  /** Content to show if there is no data: an explanation, how to create data, or a snippet. */
  readonly emptyState: ReactNode;
  readonly skeleton?: ReactNode;
  readonly retry?: (() => void) | undefined;
  /** False if the data comes from the console's server and not from the engine. Default true. */
  readonly needsEngine?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/**
 * Shows a region of the page in one of these states: loading, unreachable, empty, empty because of filters, error, or
 * data. Data that is out of date stays visible, and a bar of the page reports that. The empty state is shown only after
 * a successful response without data.
 */
export function DataRegion({
  loading,
  error,
  empty,
  filtered,
  emptyState,
  skeleton,
  retry,
  needsEngine = true,
  className,
  children,
}: DataRegionProps) {
  const isAway = isUnreachable(useLiveState());
  if (isAway && loading && needsEngine) return <Unreachable isShort />;
  if (error && (loading || empty)) return <ErrorState error={error} retry={retry} />;
  if (loading) return <Skeleton>{skeleton}</Skeleton>;
  if (empty) return filtered === undefined ? emptyState : <EmptyFiltered {...filtered} />;
  return (
    <div className={cn("flex min-h-0 flex-1 flex-col", className)}>
      {error && <ErrorBar error={error} retry={retry} />}
      {children}
    </div>
  );
}

function Skeleton({ children }: { readonly children?: ReactNode }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" aria-label={t`Loading`} className="flex-1 p-4">
      {isShown && (children ?? <SkeletonRows rows={8} />)}
    </div>
  );
}

export function SkeletonRows({ rows }: { readonly rows: number }) {
  return (
    <div aria-hidden className="flex animate-pulse flex-col gap-2.5">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without content have nothing else
        <div key={row} className="h-5 rounded bg-raised" style={{ width: `${92 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function EmptyState({
  title,
  children,
  snippet,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly snippet?: string | undefined;
}) {
  return (
    <div className="m-auto flex max-w-[min(36rem,100%)] flex-col items-center gap-2 px-6 py-12 text-center">
      <h2 className="font-medium text-[15px]">{title}</h2>
      <div className="text-ink-2">{children}</div>
      {snippet !== undefined && (
        <div className="relative mt-2 w-full rounded-md border border-line bg-raised text-left">
          <ScrollArea label={t`Snippet`}>
            <pre className="w-max p-3 pr-11">{snippet}</pre>
          </ScrollArea>
          <CopyButton text={snippet} label={t`Copy the snippet`} className="absolute top-1.5 right-1.5" />
        </div>
      )}
    </div>
  );
}

function EmptyFiltered({ what, clear }: { readonly what: string; readonly clear: () => void }) {
  return (
    <EmptyState title={t`Nothing matches`}>
      <p className="mb-3">{what}</p>
      <Button onClick={clear}>{t`Clear the filters`}</Button>
    </EmptyState>
  );
}

function detailsOf(error: Error): string {
  if (!(error instanceof ApiFailure)) return `${error.name}: ${error.message}`;
  return JSON.stringify(
    { call: error.what, code: error.code, message: error.message, details: error.details, trace_id: error.traceId },
    undefined,
    2,
  );
}

export function ErrorState({ error, retry }: { readonly error: Error; readonly retry?: (() => void) | undefined }) {
  return (
    <div
      role="alert"
      className="m-auto flex max-w-[min(36rem,100%)] flex-col items-center gap-2 px-6 py-12 text-center"
    >
      <h2 className="font-medium text-[15px] text-danger">
        {error instanceof ApiFailure ? t`${error.what} failed` : t`This content failed to load`}
      </h2>
      <p className="break-words text-ink-2">{error.message}</p>
      {error instanceof ApiFailure && <code className="text-ink-3">{error.code}</code>}
      <div className="mt-2 flex gap-2">
        {retry !== undefined && <Button onClick={retry}>{t`Try again`}</Button>}
        <CopyButton text={detailsOf(error)} label={t`Copy the details`} withText />
      </div>
    </div>
  );
}

function ErrorBar({ error, retry }: { readonly error: Error; readonly retry?: (() => void) | undefined }) {
  return (
    <div
      role="alert"
      className="flex items-center gap-3 border-danger/40 border-b bg-danger-soft px-4 py-1.5 text-danger"
    >
      <span className="min-w-0 flex-1 truncate">
        {t`${error instanceof ApiFailure ? `${error.what}: ${error.message} (${error.code})` : error.message}. The data shown may be stale.`}
      </span>
      {retry !== undefined && (
        <Button look="ghost" className="text-danger" onClick={retry}>
          {t`Try again`}
        </Button>
      )}
    </div>
  );
}
