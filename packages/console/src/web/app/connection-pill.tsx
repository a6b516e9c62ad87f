import { CircleAlert, CircleCheck, LoaderCircle, RefreshCw, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import type { Hello } from "../../contract/api.ts";
import { t } from "../labels/translate.ts";
import { missingAddresses } from "../lib/engine-address.ts";
import { type LiveState, live, type Phase } from "../lib/live-connection.ts";
import { clockTime, useZone } from "../lib/time.ts";
import { useLiveState } from "../lib/use-live.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { useNow } from "../ui/time.tsx";
import { useHello } from "./use-hello.tsx";

const LOOKS: Readonly<
  Record<Phase, { readonly label: string; readonly className: string; readonly icon: typeof CircleCheck }>
> = {
  connecting: { label: t`Connecting`, className: "bg-raised text-ink-2", icon: LoaderCircle },
  live: { label: t`Live`, className: "bg-ok-soft text-ok", icon: CircleCheck },
  reconnecting: { label: t`Reconnecting`, className: "bg-warn-soft text-warn", icon: LoaderCircle },
  "engine-away": { label: t`Engine disconnected`, className: "bg-danger-soft text-danger", icon: CircleAlert },
  offline: { label: t`Offline`, className: "bg-danger-soft text-danger", icon: WifiOff },
};

/** Shown if the engine accepts calls but rejects live updates for this token. */
const WITHOUT_UPDATES = { label: t`Live updates off`, className: "bg-info-soft text-info", icon: RefreshCw };
const WITHOUT_UPDATES_TEXT = t`Live updates need the engine's own token. Lists are refreshed every 5 s.`;

function isWithoutUpdates({ phase, engine }: LiveState): boolean {
  return phase === "live" && engine?.realtime === "refused";
}

/** Connection state of the page, in the top bar. */
export function ConnectionPill() {
  const state = useLiveState();
  const isLimited = isWithoutUpdates(state);
  const { label, className, icon: Icon } = isLimited ? WITHOUT_UPDATES : LOOKS[state.phase];
  return (
    <span
      role="status"
      title={isLimited ? WITHOUT_UPDATES_TEXT : undefined}
      className={cn("inline-flex h-6 items-center gap-1.5 rounded-full px-2.5 font-medium text-[12px]", className)}
    >
      <Icon aria-hidden className={cn("size-3.5", Icon === LoaderCircle && "animate-spin")} />
      {label}
    </span>
  );
}

/** Shows why the page is not live and since when, with a button to retry. The content of the page stays visible. */
export function ConnectionBar() {
  const state = useLiveState();
  const now = useNow();
  const zone = useZone();
  const hello = useHello();
  const [sinceMs, setSinceMs] = useState<number>();
  const isTrouble = state.phase !== "live" && state.phase !== "connecting";
  useEffect(() => setSinceMs(isTrouble ? Date.now() : undefined), [isTrouble]);
  if (!isTrouble) {
    return (
      <>
        {isWithoutUpdates(state) && <NoUpdatesNotice />}
        <RestartNotice atMs={state.restartedAtMs} now={now} />
      </>
    );
  }
  const next = state.nextTryAtMs === undefined ? undefined : Math.max(0, Math.ceil((state.nextTryAtMs - now) / 1000));
  return (
    <div role="alert" className="flex items-center gap-3 border-warn/40 border-b bg-warn-soft px-4 py-1 text-warn">
      <span className="min-w-0 flex-1">
        {reasonOf(state, hello)}
        {state.hasBeenLive && t` The data shown is from ${clockTime(sinceMs ?? now, zone, false)}.`}
        {next !== undefined && t` Trying again in ${next} s.`}
      </span>
      {state.phase !== "engine-away" && (
        <Button look="ghost" className="h-6 text-warn" onClick={() => live.retryNow()}>
          {t`Try now`}
        </Button>
      )}
    </div>
  );
}

/** A notice that the user can close. It then stays closed until the page is reloaded, because no action is needed. */
function NoUpdatesNotice() {
  const [isClosed, setClosed] = useState(wasNoticeClosed);
  if (isClosed) return null;
  const close = (): void => {
    wasNoticeClosed = true;
    setClosed(true);
  };
  return (
    <div role="status" className="flex items-center gap-3 border-line border-b bg-info-soft px-4 py-1 text-info">
      <span className="min-w-0 flex-1">{WITHOUT_UPDATES_TEXT}</span>
      <Button look="ghost" className="h-6 text-info" onClick={close}>
        {t`Close`}
      </Button>
    </div>
  );
}

let wasNoticeClosed = false;

const RESTART_SHOWN_MS = 60_000;

/** Reports that the engine has restarted, and that all data was fetched again. */
function RestartNotice({ atMs, now }: { readonly atMs: number | undefined; readonly now: number }) {
  const zone = useZone();
  const [closedAtMs, setClosed] = useState<number>();
  if (atMs === undefined || atMs === closedAtMs || now - atMs > RESTART_SHOWN_MS) return null;
  return (
    <div role="status" className="flex items-center gap-3 border-line border-b bg-info-soft px-4 py-1 text-info">
      <span className="min-w-0 flex-1">
        {t`The engine was restarted at ${clockTime(atMs, zone, false)}. All data was fetched again; your filters are unchanged.`}
      </span>
      <Button look="ghost" className="h-6 text-info" onClick={() => setClosed(atMs)}>
        {t`Close`}
      </Button>
    </div>
  );
}

function reasonOf({ phase, engine }: LiveState, hello: Hello | undefined): string {
  if (phase === "offline") return t`This browser is offline.`;
  if (phase === "reconnecting") return t`The console's server cannot be reached at ${location.host}.`;
  const addresses = missingAddresses(engine, hello?.engine);
  const place = addresses.length === 0 ? "" : t` at ${addresses.join(" and ")}`;
  return t`The engine cannot be reached${place}${engine?.reason ? ` (${engine.reason})` : ""}.`;
}
