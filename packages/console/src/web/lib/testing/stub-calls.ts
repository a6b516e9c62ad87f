import { onTestFinished, vi } from "vitest";
import type { ApiError } from "../../../contract/api.ts";

/** Body of a request of the page. */
export interface StubbedRequest {
  readonly function_id: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

/** Answers the page's requests to the console's server until the end of the test. Returns the requests. */
export function stubCalls(
  answer: (request: StubbedRequest, at: number) => { readonly data: unknown } | { readonly error: ApiError },
): readonly StubbedRequest[] {
  const requests: StubbedRequest[] = [];
  vi.stubGlobal("fetch", async (_path: string, { body }: { readonly body: string }) => {
    const request = JSON.parse(body) as StubbedRequest;
    requests.push(request);
    const answered = answer(request, requests.length - 1);
    return new Response(JSON.stringify({ ok: "data" in answered, ...answered }));
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return requests;
}
