import { Ban, Send } from "lucide-react";
import { useEffect, useMemo } from "react";
import { useHello, useWriteRefusal } from "../../../app/use-hello.tsx";
import { t } from "../../../labels/translate.ts";
import { useHotkey } from "../../../lib/hotkeys.ts";
import { useFunctions } from "../../../lib/use-functions.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { kindOf, type TriggerItem } from "../../../model/triggers.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { INPUT } from "../../../ui/input-class.ts";
import { httpMethod, httpPath } from "../model.ts";
import { Exchanges } from "./exchanges.tsx";
import { HeaderPresetsMenu } from "./header-presets-menu.tsx";
import { bodySchemaOf, curlOf, METHODS, type Method, pathParameters, requestOf, takesBody } from "./http-request.ts";
import { httpTests, useHttpSession } from "./http-store.ts";
import { AuthEditor, BodyEditor } from "./request-parts.tsx";
import { RowsEditor } from "./rows-editor.tsx";

/** Sends a request to the route through the engine's public port and shows the response. */
export default function HttpTester({
  trigger,
  siblings,
}: {
  readonly trigger: TriggerItem;
  readonly siblings: readonly TriggerItem[];
}) {
  const pattern = httpPath(trigger);
  const session = useHttpSession(trigger.id);
  useEffect(() => httpTests.open(trigger.id, httpMethod(trigger)), [trigger]);
  const base = useHello()?.engine.http ?? "";
  const format = useFunctions().items.find(({ function_id }) => function_id === trigger.function_id)?.request_format;
  const bodySchema = useMemo(() => bodySchemaOf(format), [format]);
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const draft = session?.draft;
  const built = useMemo(() => (draft === undefined ? undefined : requestOf(draft, pattern)), [draft, pattern]);
  const isRunning = session?.exchanges[0]?.state === "running";
  const request = built !== undefined && "request" in built ? built.request : undefined;
  const send = (): void => {
    if (request !== undefined && refusal === undefined && !isRunning) void httpTests.send(trigger.id, request);
  };
  useHotkey("mod+Enter", t`Send the request`, send, t`Triggers`);
  if (draft === undefined || session === undefined) return null;
  const allowed = METHODS.filter((method) =>
    siblings.some(
      (other) => kindOf(other.trigger_type) === "http" && httpPath(other) === pattern && httpMethod(other) === method,
    ),
  );
  const problem = built !== undefined && "problem" in built ? built.problem : undefined;
  const url = `${base}${request?.path ?? pattern}`;
  return (
    <section aria-label={t`Request`} className="flex flex-col gap-3">
      <h3 className="font-medium">{t`Try it`}</h3>
      <div className="flex items-center gap-2">
        <select
          aria-label={t`Method`}
          className={`${INPUT} font-semibold`}
          value={draft.method}
          onChange={(event) => httpTests.change(trigger.id, { method: event.target.value as Method })}
        >
          <optgroup label={t`Methods with a route`}>
            {allowed.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </optgroup>
          <optgroup label={t`Methods without a route`}>
            {METHODS.filter((method) => !allowed.includes(method)).map((method) => (
              <option key={method}>{method}</option>
            ))}
          </optgroup>
        </select>
        <code className="min-w-0 flex-1 truncate rounded-md bg-raised px-2 py-1" title={url}>
          {url}
        </code>
        <CopyButton text={url} label={t`Copy the URL`} />
      </div>
      {pathParameters(pattern).map(({ name, isTail }) => (
        <label key={name} className="flex items-center gap-2 text-ink-2">
          <code className="w-1/4 min-w-16 truncate">
            {isTail ? "*" : ":"}
            {name}
          </code>
          <input
            className={`${INPUT} min-w-0 flex-1 font-mono text-[12px] text-ink`}
            value={draft.params[name] ?? ""}
            placeholder={isTail ? t`the rest of the path` : t`value`}
            spellCheck={false}
            onChange={(event) =>
              httpTests.change(trigger.id, { params: { ...draft.params, [name]: event.target.value } })
            }
          />
        </label>
      ))}
      <RowsEditor
        title={t`Query parameters`}
        what={t`query parameter`}
        rows={draft.query}
        onChange={(query) => httpTests.change(trigger.id, { query })}
      />
      <RowsEditor
        title={t`Headers`}
        what={t`header`}
        rows={draft.headers}
        onChange={(headers) => httpTests.change(trigger.id, { headers })}
        tools={
          <HeaderPresetsMenu rows={draft.headers} onChange={(headers) => httpTests.change(trigger.id, { headers })} />
        }
      />
      <AuthEditor auth={draft.auth} onChange={(auth) => httpTests.change(trigger.id, { auth })} />
      {takesBody(draft.method) && (
        <BodyEditor
          draft={draft}
          schema={bodySchema}
          onChange={(change) => httpTests.change(trigger.id, change)}
          onSubmit={send}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="primary"
          disabledReason={refusal ?? problem}
          isPending={isRunning}
          onClick={send}
          title={t`Send (⌘/Ctrl-Enter)`}
          icon={<Send aria-hidden className="size-3.5" />}
        >
          {t`Send`}
        </Button>
        {isRunning && (
          <Button onClick={() => httpTests.cancel(trigger.id)} icon={<Ban aria-hidden className="size-3.5" />}>
            {t`Cancel`}
          </Button>
        )}
        {request !== undefined && <CopyButton text={() => curlOf(request, base)} label={t`Copy as curl`} withText />}
        <label className="flex items-center gap-1.5 text-ink-2">
          {t`Timeout, ms`}
          <input
            className={`${INPUT} w-20 text-right tabular-nums`}
            inputMode="numeric"
            placeholder="30000"
            value={draft.timeoutMs}
            onChange={(event) => httpTests.change(trigger.id, { timeoutMs: event.target.value.trim() })}
          />
        </label>
      </div>
      {problem !== undefined && <p className="text-warn">{problem}</p>}
      <Exchanges exchanges={session.exchanges} onEdit={(exchange) => httpTests.change(trigger.id, exchange.draft)} />
    </section>
  );
}
