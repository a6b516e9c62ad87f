export { wireErrorSchema } from "./messages.ts";
export {
  decodeNodeFrame,
  decodeNodeMessage,
  encodeNodeFrame,
  encodeNodeHello,
  encodeNodeMessage,
  MAX_NODE_FRAME_BYTES,
  MAX_NODE_MESSAGE_BYTES,
  MAX_PIECES_BYTES,
  type NodeFrameBody,
  type NodeMessage,
  type NodePiece,
  nodePieceBytes,
  splitNodeFrame,
  type UndecodableNodeBytes,
} from "./node-codec.ts";
export {
  type MirrorChanges,
  type MirrorEntry,
  mirrorChangesSchema,
  NODE_VERSIONS,
  type NodeFrame,
  type NodeFrameOf,
  type NodeFrameType,
  type NodeHello,
  type NodeMessageHead,
} from "./node-messages.ts";
