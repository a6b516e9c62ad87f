import { useMemo, useState } from "react";
import { useHello } from "../../../app/use-hello.tsx";
import { t } from "../../../labels/translate.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { ScrollArea } from "../../../ui/scroll-area.tsx";
import type { Draft } from "./request.ts";
import { snippets } from "./snippets.ts";

/** Dialog with the call as commands and programs to copy. */
export function CopyAs({
  functionId,
  draft,
  problem,
}: {
  readonly functionId: string;
  readonly draft: Draft;
  readonly problem: string | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)} disabledReason={problem}>
        {t`Copy as…`}
      </Button>
      {isOpen && problem === undefined && (
        <CopyAsDialog functionId={functionId} draft={draft} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

function CopyAsDialog({
  functionId,
  draft,
  onClose,
}: {
  readonly functionId: string;
  readonly draft: Draft;
  readonly onClose: () => void;
}) {
  const engine = useHello()?.engine;
  const copies = useMemo(() => {
    try {
      return engine === undefined ? [] : snippets(functionId, draft, engine);
    } catch (error) {
      return error as Error;
    }
  }, [functionId, draft, engine]);
  return (
    <Dialog open onClose={onClose} title={t`Copy the call`} description={t`With the payload from the editor`}>
      {copies instanceof Error ? (
        <p role="alert" className="text-danger">
          {copies.message}
        </p>
      ) : (
        <div className="flex flex-col gap-3">
          {copies.map(({ name, text, note }) => (
            <section key={name} aria-label={name}>
              <div className="flex items-center gap-2 pb-1">
                <h3 className="font-medium">{name}</h3>
                {note !== undefined && <span className="text-ink-3">{note}</span>}
                <span className="flex-1" />
                <CopyButton text={text} label={t`Copy as ${name}`} withText className="h-6" />
              </div>
              <ScrollArea label={t`Text of ${name}`} className="max-h-48 rounded-md bg-raised p-2">
                <pre>{text}</pre>
              </ScrollArea>
            </section>
          ))}
        </div>
      )}
    </Dialog>
  );
}
