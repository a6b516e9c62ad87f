import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { t } from "../labels/translate.ts";
import { importTelemetry, importText } from "../lib/import-telemetry.ts";
import { IMPORT_ATTRIBUTE, MAX_FILE_BYTES, parseTelemetry } from "../lib/telemetry-file.ts";
import { bytes } from "../lib/time.ts";
import { useLiveState } from "../lib/use-live.ts";
import { Button } from "../ui/button.tsx";
import { keepToast, toast } from "../ui/toasts.tsx";
import { useWriteRefusal } from "./use-hello.tsx";

/**
 * Button that imports traces and log entries from a file, and shows them. They are stored in the engine and not in the
 * browser, so that all pages, queries and limits apply to them.
 */
export default function ImportButton({ isShort = false }: { readonly isShort?: boolean }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const input = useRef<HTMLInputElement>(null);
  const [isPending, setPending] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const read = async (file: File): Promise<void> => {
    setPending(true);
    try {
      if (file.size > MAX_FILE_BYTES)
        throw new Error(t`the file has ${bytes(file.size)}; the maximum is ${bytes(MAX_FILE_BYTES)}`);
      const result = await importTelemetry(parseTelemetry(await file.text(), file.name));
      await queries.invalidateQueries();
      (result.problems.length === 0 ? toast : keepToast)(importText(file.name, result));
      if (result.problems.length > 0 && result.spans + result.entries === 0) return;
      const q = `resource.${IMPORT_ATTRIBUTE}:${JSON.stringify(file.name)}`;
      await navigate({ to: "/query", search: { q } });
    } catch (thrown) {
      keepToast(t`${file.name} was not imported: ${(thrown as Error).message}`);
    } finally {
      setPending(false);
    }
  };
  return (
    <>
      <Button
        icon={<Upload aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        isPending={isPending}
        title={t`Import traces and log entries: OTLP JSON, or log entries that were exported here`}
        onClick={() => input.current?.click()}
      >
        <span className={isShort ? "sr-only" : "max-sm:sr-only"}>{t`Import`}</span>
      </Button>
      <input
        ref={input}
        type="file"
        accept=".json,.jsonl,.ndjson,.txt"
        aria-label={t`File with traces or log entries`}
        className="hidden"
        onChange={(event) => {
          const file = event.target.files?.[0];
          event.target.value = "";
          if (file !== undefined) void read(file);
        }}
      />
    </>
  );
}
