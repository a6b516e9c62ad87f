import { nameProblem } from "@svc-runtime/protocol";
import { z } from "zod";
import { MAX_ITEM_ID_CHARS } from "./stream-path.ts";

const name = (what: string) =>
  z.string().superRefine((value, context) => {
    const problem = nameProblem(value, what);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  });

/**
 * Maximum length of a subscription id in `leave`. If the client joined by its URL, the id is the path, which is long.
 */
const MAX_SUBSCRIPTION_ID = 8_192;
const MAX_EPOCH = 256;

const clientMessage = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("join"),
    data: z.object({
      subscriptionId: name("subscriptionId"),
      streamName: name("streamName"),
      groupId: name("groupId"),
      id: z.string().min(1).max(MAX_ITEM_ID_CHARS).nullish(),
      since: z.object({ epoch: z.string().min(1).max(MAX_EPOCH), seq: z.int().min(0) }).nullish(),
    }),
  }),
  z.object({
    type: z.literal("leave"),
    data: z.object({ subscriptionId: z.string().min(1).max(MAX_SUBSCRIPTION_ID) }),
  }),
  z.object({ type: z.literal("hello"), data: z.object({ version: z.int().min(1) }) }),
  z.object({ type: z.literal("ping") }),
]);
export type ClientMessage = z.output<typeof clientMessage>;

const EXPECTED =
  'expected {"type":"join","data":{"subscriptionId","streamName","groupId"}}, or type leave, hello or ping';

/** Parses a client's message. Returns the problem if it is malformed. */
export function readClientMessage(
  text: string,
): ClientMessage | { readonly type: "malformed"; readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { type: "malformed", problem: `the message is not JSON: ${(error as Error).message}` };
  }
  const parsed = clientMessage.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return {
    type: "malformed",
    problem: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "malformed"}; ${EXPECTED}`,
  };
}
