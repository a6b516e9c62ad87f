import { createHash } from "node:crypto";
import { acknowledgeScript, discardScript, pendingScript, watchersScript } from "./outbox-scripts.ts";
import { expiredScript, getManyScript, groupsScript, listScript, pageScript } from "./read-scripts.ts";
import { writeScript } from "./write-script.ts";

/** A Lua script and its hash, which is its name in the server's script cache. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

export const scripts = {
  write: script(writeScript),
  getMany: script(getManyScript),
  page: script(pageScript),
  list: script(listScript),
  groups: script(groupsScript),
  expired: script(expiredScript),
  pending: script(pendingScript),
  acknowledge: script(acknowledgeScript),
  discard: script(discardScript),
  watchers: script(watchersScript),
};

function script(lua: string): Script {
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
}
