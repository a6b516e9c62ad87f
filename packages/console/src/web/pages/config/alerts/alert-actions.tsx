import { useState } from "react";
import { t } from "../../../labels/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { useNow } from "../../../ui/time.tsx";
import { type Alert, type AlertChange, useAlertChange } from "./use-alerts.ts";

const SILENCES = [
  { label: "15 min", seconds: 900 },
  { label: "1 h", seconds: 3_600 },
  { label: "8 h", seconds: 28_800 },
  { label: "24 h", seconds: 86_400 },
] as const;

export function AlertActions({
  alert,
  refusal,
  onEdit,
}: {
  readonly alert: Alert;
  readonly refusal: string | undefined;
  readonly onEdit: () => void;
}) {
  const { name, enabled, source, silenced_until: until } = alert;
  const [isConfirming, setConfirming] = useState(false);
  const change = useAlertChange();
  const now = useNow();
  const isSilent = until !== null && until > now;
  const run = (functionId: AlertChange["functionId"], payload: Readonly<Record<string, unknown>>): void =>
    change.mutate({ functionId, payload: { name, ...payload } });
  const fileRefusal = source === "runtime" ? undefined : t`This alert is defined in the config file; change it there`;
  return (
    <>
      <span className="flex flex-wrap items-center gap-1">
        {isSilent ? (
          <Button
            disabledReason={refusal}
            isPending={change.isPending}
            onClick={() => run("engine::alerts::silence", { seconds: 0 })}
          >
            {t`End silence`}
          </Button>
        ) : (
          <select
            aria-label={t`Silence ${name}`}
            className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5 disabled:opacity-50"
            value=""
            disabled={refusal !== undefined || change.isPending}
            title={refusal ?? t`Send no notifications for this time; the alert is still evaluated`}
            onChange={(event) => run("engine::alerts::silence", { seconds: Number(event.target.value) })}
          >
            <option value="" disabled>
              {t`Silence…`}
            </option>
            {SILENCES.map(({ label, seconds }) => (
              <option key={seconds} value={seconds}>
                {t`for ${label}`}
              </option>
            ))}
          </select>
        )}
        <Button
          disabledReason={refusal}
          isPending={change.isPending}
          onClick={() => run("engine::alerts::update", { enabled: !enabled })}
        >
          {enabled ? t`Disable` : t`Enable`}
        </Button>
        <Button disabledReason={refusal ?? fileRefusal} onClick={onEdit}>
          {t`Edit`}
        </Button>
        <Button look="danger" disabledReason={refusal ?? fileRefusal} onClick={() => setConfirming(true)}>
          {t`Delete`}
        </Button>
      </span>
      {change.error !== null && (
        <p role="alert" className="mt-1 text-danger">
          {change.error.message}
        </p>
      )}
      <ConfirmDialog
        open={isConfirming}
        onClose={() => setConfirming(false)}
        title={t`Delete the alert ${name}?`}
        description={t`The engine stops evaluating it. Its history is stored until the engine stops.`}
        action={t`Delete the alert`}
        isPending={change.isPending}
        refusal={refusal}
        onConfirm={() =>
          change.mutate(
            { functionId: "engine::alerts::delete", payload: { name } },
            { onSuccess: () => setConfirming(false) },
          )
        }
      />
    </>
  );
}
