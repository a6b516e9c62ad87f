import { useMutation } from "@tanstack/react-query";
import { FileDown } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { downloadText } from "../../lib/download-blob.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { diagnostics } from "./diagnostics.ts";

export function DiagnosticsButton() {
  const { phase } = useLiveState();
  const collect = useMutation({
    mutationFn: () =>
      diagnostics({ user_agent: navigator.userAgent, width: innerWidth, height: innerHeight, connection: phase }),
    onSuccess: (text) => downloadText(text, `svc-diagnostics-${new Date().toISOString().replace(/[:.]/g, "-")}.json`),
  });
  return (
    <>
      {collect.error !== null && (
        <span role="alert" className="text-danger">
          {collect.error.message}
        </span>
      )}
      <Button
        icon={<FileDown aria-hidden className="size-3.5" />}
        title={t`Versions, settings, health and connectivity as JSON, without secrets, payloads, state or logs`}
        isPending={collect.isPending}
        onClick={() => collect.mutate()}
      >
        {t`Diagnostics`}
      </Button>
    </>
  );
}
