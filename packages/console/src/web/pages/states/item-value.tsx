import { isSecretName } from "@svc-runtime/protocol/secrets";
import { useState } from "react";
import { t } from "../../labels/translate.ts";
import { Button } from "../../ui/button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import type { Entry } from "./model.ts";

/**
 * Shows a value as a tree or as text. If the key is the name of a secret, the value is hidden until the user reveals
 * it.
 */
export function ItemValue({ entry }: { readonly entry: Entry }) {
  const [isRevealed, setRevealed] = useState(false);
  if (isSecretName(entry.key) && !isRevealed) {
    return (
      <p className="flex items-center gap-3 p-4 text-ink-2">
        {t`Hidden: the key names a secret.`}
        <Button onClick={() => setRevealed(true)}>{t`Reveal`}</Button>
      </p>
    );
  }
  return <JsonView text={entry.json} name={entry.key} className="p-3" />;
}
