import { Link } from "@tanstack/react-router";
import { usePlace } from "../../app/use-place.ts";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { writeLog } from "../../model/example-commands.ts";
import { EmptyState } from "../../ui/data-region.tsx";

/** Shown if the list is empty. Says how to write an entry, or why entries are not stored. */
export default function NoLogs({ disabled }: { readonly disabled: string | undefined }) {
  const place = usePlace();
  if (disabled !== undefined) {
    return (
      <EmptyState
        title={t`Log storage is disabled`}
        snippet={
          "workers:\n  - name: svc-observability\n    config:\n      logs_enabled: true\n      logs_exporter: memory"
        }
      >
        <p>{t`Reported by the engine: ${disabled}.`}</p>
        <p>
          {rich`See ${(
            <Link to="/config" search={{}} className="text-accent underline">
              {t`Config`}
            </Link>
          )} for the current settings.`}
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t`No log entries yet`} snippet={writeLog(place)}>
      {t`Entries from the SDK's logger, the output of workers and the engine appear here live.`}
    </EmptyState>
  );
}
