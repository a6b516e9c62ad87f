import { useEffect, useState } from "react";
import { type Check, checkPayload } from "../../lib/check-payload.ts";

const WAIT_MS = 200;

/** Validates the text shortly after the user has stopped typing. Returns undefined until then. */
export function useCheck(text: string, schema: unknown): Check | undefined {
  const [found, setFound] = useState<{ readonly text: string; readonly schema: unknown; readonly check: Check }>();
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(() => {
      void checkPayload(text, schema).then((check) => isCurrent && setFound({ text, schema, check }));
    }, WAIT_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, schema]);
  return found?.text === text && found.schema === schema ? found.check : undefined;
}
