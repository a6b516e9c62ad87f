import type { Msg } from "@nats-io/transport-node";
import type { NodeLink } from "../../kernel/nodes/node-link.ts";
import { isUnheard, type NatsClient } from "./connect.ts";

/** How long an answer to a probe is waited for, in milliseconds. Then it is asked once more. */
const PROBE_MS = 1_000;

/**
 * Messages between the nodes over core NATS, which delivers in order and at most once. Without a server messages are
 * dropped: what must arrive is sent again (`PeerTable`).
 */
export function natsLink(client: NatsClient, cluster: string): NodeLink {
  const { nats } = client;
  const subjectOf = (run: string): string => `svc.${cluster}.node.${run}`;
  const all = `svc.${cluster}.all`;
  let self = "";

  async function ask(run: string): Promise<boolean | undefined> {
    try {
      await nats.request(subjectOf(run), undefined, { timeout: PROBE_MS });
      return true;
    } catch (error) {
      return isUnheard(error) && client.isUp() ? false : undefined;
    }
  }

  return {
    listen(run, onMessage) {
      self = run;
      // In this order, so that who answers a probe also receives what is sent to all.
      const toAll = nats.subscribe(all, {
        callback: (error, message) => {
          // The sender gets its own message too.
          if (error === null && message.reply !== run) onMessage(message.data);
        },
      });
      const own = nats.subscribe(subjectOf(run), {
        callback: (error, message) => {
          if (error !== null) return;
          if (isProbe(message)) message.respond();
          else onMessage(message.data);
        },
      });
      return () => {
        own.unsubscribe();
        toAll.unsubscribe();
      };
    },
    send(run, message) {
      if (client.isUp()) nats.publish(subjectOf(run), message);
    },
    sendToAll(message) {
      if (client.isUp()) nats.publish(all, message, { reply: self });
    },
    probe(run, onAnswer) {
      if (!client.isUp()) return;
      void (async () => {
        // A probe that reaches the server just before the end of a subscription gets no answer at all.
        const isThere = (await ask(run)) ?? (client.isUp() ? await ask(run) : undefined);
        if (isThere !== undefined) onAnswer(isThere);
      })();
    },
  };
}

/** A message of a node is never empty. */
function isProbe({ data, reply }: Msg): boolean {
  return data.length === 0 && reply !== undefined && reply !== "";
}
