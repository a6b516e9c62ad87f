import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";

/** Schema of an unparsed member (`FunctionSpec.rawMembers`): any JSON value, or undefined if it is missing. */
export function rawJson(description: string) {
  return z
    .custom<Payload>((value) => value instanceof Payload)
    .optional()
    .meta({ description });
}
