import { Link } from "@tanstack/react-router";
import { usePlace } from "../../app/use-place.ts";
import { writeLog } from "../../model/example-commands.ts";
import { EmptyState } from "../../ui/data-region.tsx";

/** The empty list: how to write an entry, or why entries are not stored. */
export default function NoLogs({ disabled }: { readonly disabled: string | undefined }) {
  const place = usePlace();
  if (disabled !== undefined) {
    return (
      <EmptyState
        title="Log storage is disabled"
        snippet={
          "workers:\n  - name: svc-observability\n    config:\n      logs_enabled: true\n      logs_exporter: memory"
        }
      >
        <p>Reported by the engine: {disabled}.</p>
        <p>
          See{" "}
          <Link to="/config" search={{}} className="text-accent underline">
            Config
          </Link>{" "}
          for the current settings.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No log entries yet" snippet={writeLog(place)}>
      Entries from the SDK's logger, the output of workers and the engine appear here live.
    </EmptyState>
  );
}
