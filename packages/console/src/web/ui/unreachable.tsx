import { CircleCheck, CircleX } from "lucide-react";
import type { Probe } from "../../contract/api.ts";
import { useHello } from "../app/use-hello.tsx";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { missingAddresses } from "../lib/engine-address.ts";
import { type LiveState, live } from "../lib/live-connection.ts";
import { useLiveState } from "../lib/use-live.ts";
import { useProbeNow, useProbes } from "../lib/use-probes.ts";
import { Button } from "./button.tsx";
import { useNow } from "./time.tsx";

const NAMES: Readonly<Partial<Record<Probe["name"], string>>> = {
  engine_bridge: t`SDK bridge`,
  engine_realtime: t`WebSocket server`,
  engine_http: "HTTP API",
};

/**
 * Returns true if the page gets no data, because the engine, the console's server or the network cannot be reached.
 * Returns false during the first connection attempt.
 */
export function isUnreachable({ phase, engine }: LiveState): boolean {
  if (phase === "live" || phase === "connecting") return false;
  return phase !== "engine-away" || engine?.reason !== null;
}

/**
 * Returns true if there is nothing to show: the engine accepts no calls, and has accepted none since the page was
 * loaded.
 */
export function isWithoutEngine(state: LiveState): boolean {
  return isUnreachable(state) && !state.hasBeenLive && state.engine?.bridge !== "connected";
}

/**
 * Shown instead of data that cannot be loaded. It says what cannot be reached and what was tried, and has a button to
 * try again. `isShort` is for one of several regions of a page; it leaves out the list of addresses.
 */
export function Unreachable({ isShort = false }: { readonly isShort?: boolean }) {
  const state = useLiveState();
  if (state.phase === "offline")
    return (
      <Notice title={t`This browser is offline`}>
        <RetryButton onRetry={() => live.retryNow()} />
      </Notice>
    );
  if (state.phase === "reconnecting")
    return (
      <Notice title={t`The console's server is unreachable at ${location.host}`}>
        <p className="text-ink-2">
          {rich`It may have stopped; start it with ${<code>svc console</code>}. ${<NextTry atMs={state.nextTryAtMs} />}`}
        </p>
        <RetryButton onRetry={() => live.retryNow()} />
      </Notice>
    );
  return <EngineUnreachable {...{ state, isShort }} />;
}

function EngineUnreachable({
  state: { engine, skewMs },
  isShort,
}: {
  readonly state: LiveState;
  readonly isShort: boolean;
}) {
  const addresses = missingAddresses(engine, useHello()?.engine);
  const probes = useProbes();
  const probeNow = useProbeNow();
  const nextTryAtMs = engine?.next_try_at_ms;
  return (
    <Notice
      title={
        addresses.length === 0
          ? t`The engine is unreachable`
          : t`The engine is unreachable at ${addresses.join(" and ")}`
      }
    >
      {isShort ? <p className="text-ink-2">{engine?.reason}</p> : <Attempts probes={probes.data ?? []} />}
      {nextTryAtMs != null && (
        <p className="text-[12px] text-ink-3">
          <NextTry atMs={nextTryAtMs - skewMs} />
        </p>
      )}
      {probeNow.error !== null && <p className="text-danger">{probeNow.error.message}</p>}
      <RetryButton isPending={probeNow.isFetching} onRetry={() => probeNow.refetch()} />
    </Notice>
  );
}

function Attempts({ probes }: { readonly probes: readonly Probe[] }) {
  return (
    <>
      <p className="text-ink-2">
        {rich`Start it with ${<code>svc dev</code>} in the project's folder. If it listens elsewhere, start the console with the flags ${<code>--engine-port</code>}, ${<code>--ws-port</code>} and ${<code>--bridge-port</code>}.`}
      </p>
      <ul aria-label={t`What was tried`} className="flex max-w-full flex-col gap-1 text-left text-[12px]">
        {probes.map(({ name, url, status, reason }) =>
          NAMES[name] === undefined ? null : (
            <li key={name} className="flex items-start gap-1.5">
              {status === "ok" ? (
                <CircleCheck aria-hidden className="mt-0.5 size-3.5 shrink-0 text-ok" />
              ) : (
                <CircleX aria-hidden className="mt-0.5 size-3.5 shrink-0 text-danger" />
              )}
              <span className="min-w-0 break-words">
                {NAMES[name]} <code className="break-all">{url}</code>
                {":"} {status === "ok" ? t`reachable` : (reason ?? status)}
              </span>
            </li>
          ),
        )}
      </ul>
    </>
  );
}

function Notice({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <div role="alert" className="m-auto flex max-w-[min(36rem,100%)] flex-col items-center gap-2 px-6 py-8 text-center">
      <h2 className="break-words font-medium text-[15px] text-danger">{title}</h2>
      {children}
    </div>
  );
}

function RetryButton({ isPending = false, onRetry }: { readonly isPending?: boolean; readonly onRetry: () => void }) {
  return (
    <Button className="mt-2" isPending={isPending} onClick={onRetry}>
      {t`Retry`}
    </Button>
  );
}

function NextTry({ atMs }: { readonly atMs: number | undefined }) {
  const now = useNow();
  if (atMs === undefined) return null;
  return t`Next attempt in ${Math.max(0, Math.ceil((atMs - now) / 1_000))} s.`;
}
