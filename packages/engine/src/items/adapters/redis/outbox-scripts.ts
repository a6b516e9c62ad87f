// write-script.ts documents the layout of keys.

/**
 * Arguments: prefix, owner, watcher, after, limit, maximum bytes.
 * Returns `{seq, kind, scope, key, version, at, origin, previous or false, json or false}...`.
 */
export const pendingScript = `
local answer, bytes = {}, 0
local waiting = redis.call('ZRANGEBYSCORE', ARGV[1] .. 'waiting:' .. ARGV[2] .. ':' .. ARGV[3], '(' .. ARGV[4], '+inf', 'LIMIT', 0, tonumber(ARGV[5]))
for index, seq in ipairs(waiting) do
  local name = ARGV[1] .. 'change:' .. seq
  bytes = bytes + redis.call('HSTRLEN', name, 'previous') + redis.call('HSTRLEN', name, 'json') + 300
  if index > 1 and bytes > tonumber(ARGV[6]) then
    return answer
  end
  local fields = redis.call('HMGET', name, 'kind', 'scope', 'key', 'version', 'at', 'origin', 'previous', 'json')
  answer[index] = { seq, unpack(fields, 1, 8) }
end
return answer
`;

const releaseFunction = `
local function release(seq)
  local name = ARGV[1] .. 'change:' .. seq
  if redis.call('HINCRBY', name, 'waiting', -1) <= 0 then
    redis.call('DEL', name)
  end
end
local function remove_if_empty(queue, watcher)
  if redis.call('EXISTS', queue) == 0 then
    redis.call('SREM', ARGV[1] .. 'watchers:' .. ARGV[2], watcher)
  end
end
`;

/** Arguments: prefix, owner, then the watcher and the sequence number of each delivery. */
export const acknowledgeScript = `${releaseFunction}
for index = 3, #ARGV, 2 do
  local watcher, seq = ARGV[index], ARGV[index + 1]
  local queue = ARGV[1] .. 'waiting:' .. ARGV[2] .. ':' .. watcher
  if redis.call('ZREM', queue, seq) == 1 then
    release(seq)
    remove_if_empty(queue, watcher)
  end
end
return 0
`;

/**
 * Arguments: prefix, owner, watcher, maximum number of deliveries, last sequence number (or "" for the last pending
 * one). Returns the number of discarded deliveries and the last sequence number.
 */
export const discardScript = `${releaseFunction}
local queue = ARGV[1] .. 'waiting:' .. ARGV[2] .. ':' .. ARGV[3]
local last = ARGV[5]
if last == '' then
  last = redis.call('ZRANGE', queue, -1, -1)[1] or '0'
end
local some = redis.call('ZRANGEBYSCORE', queue, '-inf', last, 'LIMIT', 0, tonumber(ARGV[4]))
for _, seq in ipairs(some) do
  redis.call('ZREM', queue, seq)
  release(seq)
end
remove_if_empty(queue, ARGV[3])
return { #some, last }
`;

/** Arguments: prefix, owner. Returns `{watcher, waiting}...`. */
export const watchersScript = `
local answer = {}
for index, watcher in ipairs(redis.call('SMEMBERS', ARGV[1] .. 'watchers:' .. ARGV[2])) do
  answer[index] = { watcher, tostring(redis.call('ZCARD', ARGV[1] .. 'waiting:' .. ARGV[2] .. ':' .. watcher)) }
end
return answer
`;
