// A published Node client under remote control: the test writes one command per line to standard input, and reads answers
// and events from file descriptor 3, so that a client's output does not interfere. `python_worker.py` uses the same protocol.
//
//   command   {"n":1,"do":"trigger","with":{...}}
//   answer    {"n":1,"value":...} (no `value` for undefined) or {"n":1,"error":{...}}
//   event     {"event":"called","function":"a","data":...}
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";

const out = createWriteStream("", { fd: 3 });
const say = (line) => out.write(`${JSON.stringify(line)}\n`);

/**
 * `sdk` contains what differs between versions: `registerWorker`, `createChannel(client, size)`,
 * `createStream(client, name, keeper)`, `http`, `Logger`, `StateEventType` and `TriggerAction`.
 */
export function runWorker(sdk) {
  let client;
  let address;
  const functions = new Map();
  const triggers = new Map();
  const triggerTypes = new Map();
  const held = new Map();
  let nextHandle = 1;

  const keep = (table, thing) => {
    const handle = String(nextHandle++);
    table.set(handle, thing);
    return handle;
  };

  const behaviours = {
    echo: () => (data) => data,
    /** The handler's second argument. */
    metadata: () => (_data, metadata) => ({ status_code: 200, body: { metadata } }),
    value:
      ({ value }) =>
      () =>
        value,
    fail:
      ({ message }) =>
      () => {
        throw new Error(message);
      },
    nothing: () => () => undefined,
    hold:
      ({ id, value }) =>
      () =>
        new Promise((resolve) => held.set(id, () => resolve(value))),
    // HTTP: the handler's request, without channel ends.
    describe:
      ({ status, headers }) =>
      ({ request_body, response, ...request }) => ({
        status_code: status,
        headers,
        body: {
          ...request,
          hasReader: request_body instanceof sdk.ChannelReader,
          hasWriter: response instanceof sdk.ChannelWriter,
        },
      }),
    // HTTP: the body is bytes 0, 1, 2 …, so that loss and disorder are visible.
    stream: ({ status, headers, chunks, chunkBytes }) =>
      sdk.http(async (_request, response) => {
        response.status(status);
        response.headers(headers);
        for (let i = 0; i < chunks; i++) {
          if (!response.stream.write(pattern(chunkBytes)))
            await new Promise((resolve) => response.stream.once("drain", resolve));
        }
        response.stream.end();
      }),
    digest: () =>
      sdk.http(async (request) => {
        const bytes = await readBytes(request.request_body);
        return { status_code: 200, body: { bytes: bytes.length, sha256: sha256(bytes), body: request.body } };
      }),
    // Channels: the data contains an end somewhere.
    readChannel: () => async (data) => {
      const { reader } = data.deep[0];
      const texts = [];
      reader.onMessage((text) => texts.push(text));
      const bytes = await readBytes(reader);
      return { isReader: reader instanceof sdk.ChannelReader, bytes: bytes.length, sha256: sha256(bytes), texts };
    },
    writeChannel:
      ({ bytes, texts }) =>
      async (data) => {
        const { writer } = data.deep[0];
        await writeAll(writer, bytes, texts);
        return { isWriter: writer instanceof sdk.ChannelWriter };
      },
  };

  function streamKeeper(name) {
    const groups = new Map();
    const groupOf = ({ group_id }) => {
      if (!groups.has(group_id)) groups.set(group_id, new Map());
      return groups.get(group_id);
    };
    const methods = {
      get: (input) => groupOf(input).get(input.item_id) ?? null,
      set(input) {
        const old_value = methods.get(input);
        groupOf(input).set(input.item_id, input.data);
        return { old_value, new_value: input.data };
      },
      delete(input) {
        const old_value = methods.get(input);
        groupOf(input).delete(input.item_id);
        return { old_value };
      },
      list: (input) => [...groupOf(input).values()],
      listGroups: () => [...groups.keys()],
    };
    const noted = ([method, keep]) => [
      method,
      async (input) => {
        say({ event: "kept", function: method, type: name, data: input });
        return keep(input);
      },
    ];
    return Object.fromEntries(Object.entries(methods).map(noted));
  }

  async function readBytes(reader) {
    const chunks = [];
    for await (const chunk of reader.stream) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async function writeAll(writer, bytes, texts = []) {
    for (const text of texts) writer.sendMessage(text);
    await new Promise((resolve, reject) => {
      writer.stream.on("error", reject);
      writer.stream.end(pattern(bytes), resolve);
    });
  }

  const commands = {
    connect({ address: to, options }) {
      address = to;
      client = sdk.registerWorker(address, options);
    },
    registerFunction({ id, behaviour, options }) {
      const handle = behaviours[behaviour.kind]({ id, ...behaviour });
      functions.set(
        id,
        client.registerFunction(
          id,
          async (...args) => {
            say({
              event: "called",
              function: id,
              data: isPlain(args[0]) ? args[0] : null,
              arguments: args.length,
              metadata: args[1],
            });
            return handle(...args);
          },
          options,
        ),
      );
    },
    registerHttpFunction: ({ id, invocation }) => void client.registerFunction(id, invocation),
    unregisterFunction: ({ id }) => functions.get(id).unregister(),
    release({ id }) {
      held.get(id)();
      held.delete(id);
    },
    trigger({ action, ...request }) {
      const made = {
        void: () => sdk.TriggerAction.Void(),
        enqueue: () => sdk.TriggerAction.Enqueue({ queue: action.queue }),
      }[action?.type];
      return client.trigger({ ...request, ...(made === undefined ? {} : { action: made() }) });
    },
    registerTrigger: (request) => keep(triggers, client.registerTrigger(request)),
    unregisterTrigger: ({ handle }) => triggers.get(handle).unregister(),
    registerTriggerType({ id, description, failure }) {
      const note = (event) => async (config) => {
        say({ event, type: id, config: { ...config } });
        if (failure !== undefined && event === "bound") throw new Error(failure);
      };
      triggerTypes.set(
        id,
        client.registerTriggerType(
          { id, description },
          { registerTrigger: note("bound"), unregisterTrigger: note("unbound") },
        ),
      );
    },
    unregisterTriggerType: ({ id }) => triggerTypes.get(id).unregister(),
    registerService: (service) => client.registerService(service),
    /** Creates a channel and passes one end, or the value `in`, to a function. Uses the other end here. */
    async channelTo({ function_id, size, write, hold }) {
      const channel = await sdk.createChannel(client, size);
      const refs = { writer: channel.writerRef, reader: channel.readerRef };
      if (hold) return { refs, held: keep(triggers, channel) };
      if (write !== undefined) {
        const call = client.trigger({ function_id, payload: { deep: [{ reader: channel.readerRef }] } });
        const [answer] = await Promise.all([call, writeAll(channel.writer, write.bytes, write.texts)]);
        return { refs, answer };
      }
      const texts = [];
      channel.reader.onMessage((text) => texts.push(text));
      const call = client.trigger({ function_id, payload: { deep: [{ writer: channel.writerRef }] } });
      const [answer, bytes] = await Promise.all([call, readBytes(channel.reader)]);
      return { refs, answer, bytes: bytes.length, sha256: sha256(bytes), texts };
    },
    stateEventTypes: () => sdk.StateEventType,
    /** Stores a stream's items here, with the functions that the client registers for it. */
    createStream: ({ name }) => sdk.createStream(client, name, streamKeeper(name)),
    log: ({ message, data }) => new sdk.Logger().info(message, data),
    async shutdown() {
      const ending = client;
      client = undefined;
      await ending.shutdown();
    },
    async reset() {
      if (client !== undefined) await commands.shutdown();
      for (const table of [functions, triggers, triggerTypes, held]) table.clear();
    },
    /** Ends the process like a program that has nothing left to do. The test detects what keeps it running. */
    finish: () => void setImmediate(() => process.stdin.destroy()),
  };

  createInterface({ input: process.stdin }).on("line", async (line) => {
    const { n, do: name, with: args } = JSON.parse(line);
    try {
      const value = await commands[name](args ?? {});
      say({ n, value });
    } catch (error) {
      const { name: type, code, message, function_id, stacktrace } = error ?? {};
      say({ n, error: { type, code, message, function_id, stacktrace } });
    }
  });
  say({ event: "ready" });
}

function isPlain(data) {
  try {
    JSON.stringify(data);
    return true;
  } catch {
    return false;
  }
}

function pattern(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) bytes[i] = i % 251;
  return bytes;
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
