import type { StreamJoin, StreamSnapshot, StreamSource } from "../../kernel/stream-contract.ts";
import { type AuthenticationParts, authenticate } from "./authentication.ts";
import type { JoinTriggers, LeaveTriggers } from "./client-triggers.ts";
import { groupNameProblem, streamNameProblem } from "./names.ts";

/** Maximum number of groups in a listing. */
const MAX_LISTED_GROUPS = 10_000;

export interface SourceParts extends AuthenticationParts {
  readonly joins: JoinTriggers;
  readonly leaves: LeaveTriggers;
  /** Function that authenticates clients; undefined: every client is accepted. */
  readonly authFunction: string | undefined;
  snapshot(stream: string, group: string, id: string | undefined): Promise<StreamSnapshot>;
  groups(
    limit: number,
  ): Promise<readonly { readonly stream: string; readonly group: string; readonly items: number }[]>;
}

/** Returns the source of user-defined streams for the real-time listener. */
export function streamSource(parts: SourceParts): StreamSource {
  const { joins, leaves, authFunction } = parts;
  return {
    authenticate: authFunction === undefined ? undefined : (client) => authenticate(authFunction, client, parts),
    async admit(join: StreamJoin) {
      const problem = streamNameProblem(join.stream) ?? groupNameProblem(join.group);
      return problem === undefined ? joins.admit(join) : { refusal: problem };
    },
    left: (leave) => leaves.left(leave),
    snapshot: (stream, group, id) => parts.snapshot(stream, group, id),
    groups: () => parts.groups(MAX_LISTED_GROUPS),
  };
}
