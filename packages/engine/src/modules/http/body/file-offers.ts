import type { Undo } from "../../../kernel/scope.ts";
import type { FilePart } from "./file-part.ts";
import type { FormSpools } from "./form-spool.ts";

/** The files of forms that functions can read, by the ids of their channels. Bounded by the requests in flight. */
export class FileOffers {
  /** Storage on the disk for files that do not fit in memory. */
  readonly spools: FormSpools;
  /** Returns an id for the channel of a file. */
  readonly newChannelId: () => string;
  readonly #files = new Map<string, FilePart>();

  constructor(spools: FormSpools, newChannelId: () => string) {
    this.spools = spools;
    this.newChannelId = newChannelId;
  }

  /** Makes the file readable. The returned function ends this and closes the file's channel. */
  add(file: FilePart): Undo {
    const { channel_id } = file.ref;
    this.#files.set(channel_id, file);
    return () => {
      if (this.#files.delete(channel_id)) file.close("the request is over");
    };
  }

  find(channelId: string): FilePart | undefined {
    return this.#files.get(channelId);
  }
}
