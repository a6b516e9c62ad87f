import { Download } from "lucide-react";
import { useState } from "react";
import { t } from "../../../labels/translate.ts";
import { downloadText } from "../../../lib/download-blob.ts";
import { Button } from "../../../ui/button.tsx";
import { maskedSpan } from "../model/masked-span.ts";
import { otlpOf } from "../model/trace-text.ts";
import { fetchWholeTrace } from "./read-spans.ts";

/**
 * Button that exports the whole trace as an OTLP file, which any OpenTelemetry collector accepts. Secrets are masked.
 */
export function ExportTrace({ traceId }: { readonly traceId: string }) {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<string>();
  const save = async (): Promise<void> => {
    setPending(true);
    setFailure(undefined);
    try {
      downloadText(
        JSON.stringify(otlpOf((await fetchWholeTrace(traceId)).map(maskedSpan))),
        `trace-${traceId}.otlp.json`,
      );
    } catch (error) {
      setFailure(t`The export failed: ${(error as Error).message}`);
    } finally {
      setPending(false);
    }
  };
  return (
    <>
      <Button
        title={t`With secrets masked`}
        isPending={isPending}
        onClick={() => void save()}
        icon={<Download aria-hidden className="size-3.5" />}
      >
        {t`Export OTLP`}
      </Button>
      {failure !== undefined && (
        <p role="alert" className="basis-full text-danger">
          {failure}
        </p>
      )}
    </>
  );
}
