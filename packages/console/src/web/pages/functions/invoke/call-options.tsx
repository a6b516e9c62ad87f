import { type ReactNode, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { INPUT } from "../../../ui/input-class.ts";
import { DEFAULT_TIMEOUT_MS, type Draft, type Mode } from "./request.ts";

const MODES: readonly { readonly value: Mode; readonly label: string }[] = [
  { value: "sync", label: t`Wait for the result` },
  { value: "void", label: t`Fire and forget` },
  { value: "enqueue", label: t`Put on a queue` },
];

function Labelled({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label className="flex items-center gap-1.5 text-ink-2">
      {label}
      {children}
    </label>
  );
}

/** Mode, timeout, queue and metadata of the call. */
export function CallOptions({
  draft,
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}) {
  const [isMetadataOpen, setMetadataOpen] = useState(draft.metadata !== "");
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Labelled label={t`Mode`}>
          <select
            className={INPUT}
            value={draft.mode}
            onChange={(event) => onChange({ mode: event.target.value as Mode })}
          >
            {MODES.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </Labelled>
        {draft.mode === "enqueue" && (
          <Labelled label={t`Queue`}>
            <input
              className={`${INPUT} w-32`}
              value={draft.queue}
              onChange={(event) => onChange({ queue: event.target.value })}
            />
          </Labelled>
        )}
        <Labelled label={t`Timeout in ms`}>
          <input
            className={`${INPUT} w-24 text-right tabular-nums`}
            inputMode="numeric"
            placeholder={String(DEFAULT_TIMEOUT_MS)}
            value={draft.timeoutMs}
            onChange={(event) => onChange({ timeoutMs: event.target.value.trim() })}
          />
        </Labelled>
        <button
          type="button"
          className="text-accent underline"
          aria-expanded={isMetadataOpen}
          onClick={() => setMetadataOpen(!isMetadataOpen)}
        >
          {t`Metadata`}
        </button>
      </div>
      {isMetadataOpen && (
        <label className="flex flex-col gap-1 text-ink-2">
          {t`Metadata: any JSON, passed to the handler in addition to its input`}
          <textarea
            className="min-h-16 rounded-md border border-line-strong/60 bg-surface p-2 font-mono text-[12px] text-ink"
            value={draft.metadata}
            spellCheck={false}
            placeholder='{"tenant": "blue"}'
            onChange={(event) => onChange({ metadata: event.target.value })}
          />
        </label>
      )}
    </div>
  );
}
