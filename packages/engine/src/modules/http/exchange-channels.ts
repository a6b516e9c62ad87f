import type { Channel, ChannelReader, ChannelWriter, ModuleContext } from "../../kernel/module.ts";

/** Items that a channel of a request may hold; bytes are bounded by the channels themselves. The number that was published. */
const BUFFER_ITEMS = 64;

/** The two channels of a request: its body for the function to read, and its answer for the function to write. */
export interface ExchangeChannels {
  /** The refs as members of a JSON object, with a comma before. */
  readonly members: string;
  readonly body: ChannelWriter;
  readonly answer: ChannelReader;
  readonly answerWriterIsTaken: boolean;
  /** Takes both down. */
  close(): void;
}

/**
 * Makes the channels of one request. They are made for every request of a route that does not say `streaming: false`, because
 * published clients look for both refs in every request, and nothing tells before the call whether a function will use them.
 */
export function openChannels(context: Pick<ModuleContext<unknown>, "createChannel">): ExchangeChannels {
  const body = context.createChannel({ bufferItems: BUFFER_ITEMS });
  let answer: Channel;
  try {
    answer = context.createChannel({ bufferItems: BUFFER_ITEMS });
  } catch (error) {
    body.close("the request has no second channel");
    throw error;
  }
  return {
    members: `,"request_body":${refText(body.readerRef)},"response":${refText(answer.writerRef)}`,
    body: body.takeWriter(),
    answer: answer.takeReader(),
    get answerWriterIsTaken() {
      return answer.writerIsTaken;
    },
    close() {
      body.close("the request is over");
      answer.close("the request is over");
    },
  };
}

/** Ids and keys are UUIDs, which need no escaping. */
export function refText({ channel_id, access_key, direction }: Channel["readerRef"]): string {
  return `{"channel_id":"${channel_id}","access_key":"${access_key}","direction":"${direction}"}`;
}
