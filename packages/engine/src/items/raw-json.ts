import { Payload } from "@svc/protocol";
import { z } from "zod";

/** A member that a function is handed unread (`FunctionSpec.rawMembers`): any JSON value. Undefined when it is missing. */
export function rawJson(description: string) {
  return z
    .custom<Payload>((value) => value instanceof Payload)
    .optional()
    .meta({ description });
}
