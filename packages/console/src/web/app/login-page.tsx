import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { logIn, sessionHasEnded } from "../lib/page-token.ts";
import { Button } from "../ui/button.tsx";
import { usePreferences } from "./preferences.ts";

/** Login form for a token of the engine. It replaces all pages until the user has logged in. */
export default function LoginPage() {
  // Applies the theme.
  usePreferences();
  const [problem, setProblem] = useState<string>();
  const [isPending, setPending] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    document.title = t`Log in - svc console`;
    input.current?.focus();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const token = input.current?.value.trim() ?? "";
    if (token === "") {
      setProblem(t`Enter a token.`);
      input.current?.focus();
      return;
    }
    setPending(true);
    void logIn(token).then((why) => {
      // After a successful login, the state stays pending until the page reloads.
      if (why === "") return;
      setPending(false);
      setProblem(t`The login failed: ${why}.`);
      input.current?.select();
    });
  };
  return (
    <main className="flex h-full items-start justify-center overflow-auto p-4 pt-[15vh]">
      <form
        onSubmit={submit}
        className="flex w-full max-w-[380px] flex-col gap-3 rounded-lg border border-line bg-surface p-5"
      >
        <h1 className="flex items-center gap-2 font-semibold text-[15px]">
          <img src="/favicon.svg" alt="" className="size-5" />
          {t`Log in to the svc console`}
        </h1>
        {sessionHasEnded() && problem === undefined && (
          <p role="status">{t`Your session has ended. Log in again to continue.`}</p>
        )}
        <p id={`${id}-help`} className="text-ink-2">
          {rich`The engine requires a token. Its own is the value of ${<code>SVC_TOKEN</code>} or ${<code>engine.token</code>}, else the content of the file ${<code>.svc/token</code>}. The console does what this token allows.`}
        </p>
        <label htmlFor={`${id}-token`} className="font-medium">
          {t`Token`}
        </label>
        <input
          ref={input}
          id={`${id}-token`}
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          aria-describedby={`${id}-help ${id}-problem`}
          aria-invalid={problem !== undefined}
          className="h-8 w-full rounded-md border border-line-strong/60 bg-surface px-2 font-mono"
        />
        <p id={`${id}-problem`} role="alert" className="min-h-[1.25rem] text-danger">
          {problem}
        </p>
        <Button look="primary" type="submit" isPending={isPending} className="h-8">
          {t`Log in`}
        </Button>
      </form>
    </main>
  );
}
