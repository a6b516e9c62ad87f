/**
 * Reads several items of a scope. Arguments: prefix, scope, maximum bytes, keys... Returns `{"done", record or
 * false...}` or `{"too_large", bytes}`. See `writeScript` for the format of a record.
 */
export const getManyScript = `
local items, bytes, answer = ARGV[1] .. 'items:' .. ARGV[2], 0, { 'done' }
for index = 4, #ARGV do
  bytes = bytes + redis.call('HSTRLEN', items, ARGV[index])
end
if bytes > tonumber(ARGV[3]) then
  return { 'too_large', string.format('%.0f', bytes) }
end
for index = 4, #ARGV do
  answer[index - 2] = redis.call('HGET', items, ARGV[index])
end
return answer
`;

const aliveFunction = `
local function alive(record, now)
  local expires, start = string.match(record, '^%d+ %S+ (%S+)\\n()')
  return (expires == '-' or tonumber(expires) > now), #record - start + 1
end
`;

/**
 * Reads a page of the items of a scope whose keys have a prefix. Arguments: prefix of Redis keys, scope, now, limit,
 * maximum bytes, start of the page, end of the page, start of the keys' prefix (the last three in ZRANGEBYLEX syntax).
 * Returns `{total, "1" if there are more items after the page, otherwise "0", key, record...}`.
 */
export const pageScript = `${aliveFunction}
local keys, items = ARGV[1] .. 'keys:' .. ARGV[2], ARGV[1] .. 'items:' .. ARGV[2]
local now, limit, most, from, to = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local answer, bytes, found = { tostring(redis.call('ZLEXCOUNT', keys, ARGV[8], to)), '0' }, 0, 0
while true do
  local some = redis.call('ZRANGEBYLEX', keys, from, to, 'LIMIT', 0, 500)
  for _, key in ipairs(some) do
    local record = redis.call('HGET', items, key)
    local is_alive, size = alive(record, now)
    if is_alive then
      bytes = bytes + size
      if found >= limit or (found > 0 and bytes > most) then
        answer[2] = '1'
        return answer
      end
      found = found + 1
      answer[#answer + 1] = key
      answer[#answer + 1] = record
    end
  end
  if #some < 500 then
    return answer
  end
  from = '(' .. some[#some]
end
`;

/**
 * Reads all items of a scope, except expired ones. Arguments: prefix, scope, now, maximum bytes. Returns `{"done",
 * record...}` in key order, or `{"too_large", items, bytes}`.
 */
export const listScript = `${aliveFunction}
local keys, items = ARGV[1] .. 'keys:' .. ARGV[2], ARGV[1] .. 'items:' .. ARGV[2]
local answer, now, most = { 'done' }, tonumber(ARGV[3]), tonumber(ARGV[4])
local count, bytes = redis.call('ZCARD', keys), tonumber(redis.call('HGET', ARGV[1] .. 'bytes', ARGV[2]) or 0)
if bytes > most then
  local own = #ARGV[2] .. ':' .. ARGV[2]
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1] .. 'expiry', '-inf', ARGV[3], 'LIMIT', 0, 10000)) do
    if string.sub(id, 1, #own) == own then
      local _, size = alive(redis.call('HGET', items, string.sub(id, #own + 1)), now)
      count, bytes = count - 1, bytes - size
    end
  end
  if bytes > most then
    return { 'too_large', tostring(count), string.format('%.0f', bytes) }
  end
end
for _, key in ipairs(redis.call('ZRANGEBYLEX', keys, '-', '+')) do
  local record = redis.call('HGET', items, key)
  if alive(record, now) then
    answer[#answer + 1] = record
  end
end
return answer
`;

/**
 * Reads a page of the scopes whose names have a prefix. Arguments: prefix of Redis keys, limit, start of the page, end
 * of the page, start of the names' prefix. Returns `{total, "1" if there are more scopes after the page, otherwise "0",
 * {scope, items, bytes}...}`.
 */
export const groupsScript = `
local limit = tonumber(ARGV[2])
local found = redis.call('ZRANGEBYLEX', ARGV[1] .. 'scopes', ARGV[3], ARGV[4], 'LIMIT', 0, limit + 1)
local answer = { tostring(redis.call('ZLEXCOUNT', ARGV[1] .. 'scopes', ARGV[5], ARGV[4])), #found > limit and '1' or '0' }
for index = 1, math.min(limit, #found) do
  local scope = found[index]
  answer[index + 2] = { scope, tostring(redis.call('ZCARD', ARGV[1] .. 'keys:' .. scope)), redis.call('HGET', ARGV[1] .. 'bytes', scope) or '0' }
end
return answer
`;

/** Finds expired items. Arguments: prefix, now, limit. Returns `{scope, key, version}...`. */
export const expiredScript = `
local answer = {}
for index, id in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1] .. 'expiry', '-inf', ARGV[2], 'LIMIT', 0, tonumber(ARGV[3]))) do
  local length, start = string.match(id, '^(%d+):()')
  local scope, key = string.sub(id, start, start + length - 1), string.sub(id, start + length)
  local version = string.match(redis.call('HGET', ARGV[1] .. 'items:' .. scope, key), '^%d+')
  answer[index] = { scope, key, version }
end
return answer
`;
