import type { ReactNode } from "react";
import { t } from "../../../labels/translate.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";

/** List of names and values. */
export function Fields({ children }: { readonly children: ReactNode }) {
  return <dl className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-3 gap-y-1 p-3 text-[13px]">{children}</dl>;
}

/** A name with a value. `copy` is the text for the clipboard. Without it, there is no button that copies. */
export function Field({
  name,
  copy,
  children,
}: {
  readonly name: string;
  readonly copy?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <>
      <dt className="pt-0.5 text-ink-3">{name}</dt>
      <dd className="flex min-w-0 items-start gap-1">
        <span className="min-w-0 break-words pt-0.5">{children}</span>
        {copy !== undefined && <CopyButton text={copy} label={t`Copy ${name}`} className="-my-0.5 size-6" />}
      </dd>
    </>
  );
}

export const linkClass = "text-accent hover:underline";
