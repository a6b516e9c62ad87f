import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { isModuleMissing } from "../../ui/module-missing.tsx";
import { toast } from "../../ui/toasts.tsx";
import { Section } from "./section.tsx";
import { queueUsage, stateUsage, type Usage } from "./storage-text.ts";
import { UsageBar } from "./usage-bar.tsx";
import { useClear, useQueueUsage, useStateUsage, useTelemetryStatus } from "./use-config.ts";

/** Data that the engine stores, with buttons that delete it. */
export function StorageSection() {
  const { data, error, isPending, refetch } = useTelemetryStatus();
  return (
    <Section title={t`Storage`} description={t`Stored data and its limits`}>
      <DataRegion
        loading={isPending && error === null}
        error={isModuleMissing(error) ? null : error}
        empty={false}
        emptyState={null}
        retry={() => void refetch()}
      >
        <ul className="grid gap-px bg-line sm:grid-cols-2 xl:grid-cols-4">
          {data !== undefined && (
            <>
              <StoreCard
                clear={{ functionId: "engine::traces::clear", what: t`traces`, count: data.spans?.stored ?? 0 }}
              >
                <UsageBar name={t`Traces (spans)`} figures={data.spans} off={t`Not stored: exporter is otlp.`} />
              </StoreCard>
              <StoreCard
                clear={{ functionId: "engine::logs::clear", what: t`log entries`, count: data.logs?.stored ?? 0 }}
              >
                <UsageBar
                  name={t`Logs`}
                  figures={data.logs}
                  off={t`Not stored: logs_enabled is false, or logs are only exported.`}
                />
              </StoreCard>
            </>
          )}
          <StateUsage />
          <QueueUsage />
        </ul>
      </DataRegion>
    </Section>
  );
}

function StoreCard({
  clear,
  children,
}: {
  readonly clear?: {
    readonly functionId: "engine::traces::clear" | "engine::logs::clear";
    readonly what: string;
    readonly count: number;
  };
  readonly children: ReactNode;
}) {
  return (
    <li className="flex min-w-0 flex-col items-start gap-2 bg-surface px-4 py-3 [&>div:first-child]:w-full">
      {children}
      {clear !== undefined && <ClearButton {...clear} />}
    </li>
  );
}

function ClearButton({
  functionId,
  what,
  count,
}: {
  readonly functionId: "engine::traces::clear" | "engine::logs::clear";
  readonly what: string;
  readonly count: number;
}) {
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const [isConfirming, setConfirming] = useState(false);
  const clear = useClear(functionId);
  return (
    <>
      <Button
        look="danger"
        icon={<Trash2 aria-hidden className="size-3.5" />}
        disabledReason={refusal ?? (count === 0 ? t`Nothing to delete` : undefined)}
        onClick={() => setConfirming(true)}
      >
        {t`Delete all ${what}`}
      </Button>
      <ConfirmDialog
        open={isConfirming}
        onClose={() => setConfirming(false)}
        title={t`Delete all ${what}?`}
        description={t`This deletes all ${count} stored ${what} for every user. It cannot be undone. New ${what} are stored as before.`}
        action={t`Delete all ${what}`}
        typeToConfirm={what}
        isPending={clear.isPending}
        refusal={refusal}
        onConfirm={() =>
          clear.mutate(undefined, {
            onSuccess: () => {
              setConfirming(false);
              toast(t`All ${what} were deleted`);
            },
          })
        }
      >
        {clear.error !== null && (
          <p role="alert" className="text-danger">
            {t`Failed to delete: ${clear.error.message}`}
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

function StateUsage() {
  const { data, error } = useStateUsage();
  return (
    <StoreCard>
      <div>
        <h3 className="font-medium">{t`State`}</h3>
        {error !== null ? (
          <UsageError error={error} module="svc-state" />
        ) : data === undefined ? (
          <p className="text-ink-3">…</p>
        ) : (
          <UsageText usage={stateUsage(data)} />
        )}
        <HrefLink href="/states" className="text-accent underline">
          {t`Open States`}
        </HrefLink>
      </div>
    </StoreCard>
  );
}

function QueueUsage() {
  const { data, error } = useQueueUsage();
  return (
    <StoreCard>
      <div>
        <h3 className="font-medium">{t`Queues`}</h3>
        {error !== null ? (
          <UsageError error={error} module="svc-queue" />
        ) : data === undefined ? (
          <p className="text-ink-3">…</p>
        ) : (
          <UsageText usage={queueUsage(data.queues)} />
        )}
        <HrefLink href="/queues" className="text-accent underline">
          {t`Open Queues`}
        </HrefLink>
      </div>
    </StoreCard>
  );
}

function UsageText({ usage }: { readonly usage: Usage }) {
  return (
    <p className="text-ink-2">
      {usage.text} · {bytes(usage.bytes)}
    </p>
  );
}

function UsageError({ error, module }: { readonly error: Error; readonly module: string }) {
  return isModuleMissing(error) ? (
    <p className="text-ink-3">{rich`${<code>{module}</code>} is not in the engine's config.`}</p>
  ) : (
    <p role="alert" className="text-danger">
      {t`Failed to load: ${error.message}`}
    </p>
  );
}
