import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
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
import { useTelemetryStatus } from "./use-config.ts";
import { useClear, useQueueUsage, useStateUsage } from "./use-storage.ts";

/** What the engine keeps, and how to be rid of it. */
export function StorageSection() {
  const { data, error, isPending, refetch } = useTelemetryStatus();
  return (
    <Section title="Storage" description="What the engine keeps, and how much it may">
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
              <Kept clear={{ functionId: "engine::traces::clear", what: "traces", count: data.spans?.stored ?? 0 }}>
                <UsageBar name="Traces (spans)" figures={data.spans} off="None are kept: exporter is otlp." />
              </Kept>
              <Kept clear={{ functionId: "engine::logs::clear", what: "log entries", count: data.logs?.stored ?? 0 }}>
                <UsageBar name="Logs" figures={data.logs} off="None are kept: logs_enabled is false, or they are only sent on." />
              </Kept>
            </>
          )}
          <StateUsage />
          <QueueUsage />
        </ul>
      </DataRegion>
    </Section>
  );
}

function Kept({
  clear,
  children,
}: {
  readonly clear?: { readonly functionId: "engine::traces::clear" | "engine::logs::clear"; readonly what: string; readonly count: number };
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
  const [isAsking, setAsking] = useState(false);
  const clear = useClear(functionId);
  return (
    <>
      <Button
        look="danger"
        icon={<Trash2 aria-hidden className="size-3.5" />}
        disabledReason={refusal ?? (count === 0 ? "There is nothing to delete" : undefined)}
        onClick={() => setAsking(true)}
      >
        Delete all {what}
      </Button>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={`Delete all ${what}?`}
        description={`The engine forgets the ${count.toLocaleString("en-GB")} that it keeps, for everybody. This cannot be undone. What comes later is kept again.`}
        action={`Delete all ${what}`}
        typeToConfirm={what}
        isPending={clear.isPending}
        refusal={refusal}
        onConfirm={() =>
          clear.mutate(undefined, {
            onSuccess: () => {
              setAsking(false);
              toast(`All ${what} were deleted`);
            },
          })
        }
      >
        {clear.error !== null && (
          <p role="alert" className="text-danger">
            They were not deleted: {clear.error.message}
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

function StateUsage() {
  const { data, error } = useStateUsage();
  return (
    <Kept>
      <div>
        <h3 className="font-medium">State</h3>
        {error !== null ? (
          <Unknown error={error} module="svc-state" />
        ) : data === undefined ? (
          <p className="text-ink-3">…</p>
        ) : (
          <UsageText usage={stateUsage(data)} />
        )}
        <HrefLink href="/states" className="text-accent underline">
          Look and delete in States
        </HrefLink>
      </div>
    </Kept>
  );
}

function QueueUsage() {
  const { data, error } = useQueueUsage();
  return (
    <Kept>
      <div>
        <h3 className="font-medium">Queues</h3>
        {error !== null ? (
          <Unknown error={error} module="svc-queue" />
        ) : data === undefined ? (
          <p className="text-ink-3">…</p>
        ) : (
          <UsageText usage={queueUsage(data.queues)} />
        )}
        <HrefLink href="/queues" className="text-accent underline">
          Look and delete in Queues
        </HrefLink>
      </div>
    </Kept>
  );
}

function UsageText({ usage }: { readonly usage: Usage }) {
  return (
    <p className="text-ink-2">
      {usage.text} · {bytes(usage.bytes)}
    </p>
  );
}

function Unknown({ error, module }: { readonly error: Error; readonly module: string }) {
  return isModuleMissing(error) ? (
    <p className="text-ink-3">
      <code>{module}</code> is not in the engine's config.
    </p>
  ) : (
    <p role="alert" className="text-danger">
      Not known: {error.message}
    </p>
  );
}
