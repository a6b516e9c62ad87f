import type { Msg } from "@nats-io/transport-node";
import type { NodeLink } from "../../kernel/nodes/node-link.ts";
import { isUnheard, type NatsClient } from "./connect.ts";

/** Timeout of a probe, in milliseconds. After it, the probe is sent once more. */
const PROBE_MS = 1_000;

/**
 * Messages between the nodes over core NATS, which delivers in order and at most once. Without a server, messages are
 * dropped. So `PeerTable` sends again what must arrive.
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
      // Subscribe to `all` before the own subject. So a node that answers probes also receives the messages to all.
      const toAll = nats.subscribe(all, {
        callback: (error, message) => {
          // The server delivers an engine's own messages too.
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
        // Ask a second time after a timeout, because a server gives no answer if the receiver's subscription has just
        // ended.
        const isThere = (await ask(run)) ?? (client.isUp() ? await ask(run) : undefined);
        if (isThere !== undefined) onAnswer(isThere);
      })();
    },
  };
}

/** True for a probe, which is empty. All other messages of a node have content. */
function isProbe({ data, reply }: Msg): boolean {
  return data.length === 0 && reply !== undefined && reply !== "";
}
