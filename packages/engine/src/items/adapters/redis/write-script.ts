/**
 * Lua script that executes either all of its writes or none of them. First it plans each write like `planWrite`, then
 * it applies the plans. Redis runs a script atomically. If memory or disk is full, Redis rejects the script at its
 * first write, so a script is never applied partially.
 *
 * The version floor of a scope is the highest version of a deletion in it. New items get a higher version, so a key
 * never has the same version twice.
 *
 * Keys, after the prefix: `items:SCOPE` (hash of records by key), `keys:SCOPE` and `scopes` (sorted), `bytes` (size of
 * JSON by scope), `floors` (version floor by scope), `floor` (version floor of all scopes that are not in `floors`),
 * `empty` (scopes in `floors` that have no items), `expiry` (items by expiry time), `seq`, `change:SEQ`,
 * `waiting:OWNER:WATCHER` (sequence numbers), `watchers:OWNER`.
 *
 * A record is `VERSION UPDATED_AT EXPIRES_AT`, a line feed, and the JSON. EXPIRES_AT is `-` for an item that does not
 * expire.
 *
 * Arguments: prefix, owner, maximum pending deliveries, maximum bytes replaced, adjustment of the engine's clock (see
 * `itemOf`), number of writes. For each write: `set` or `delete`, scope, key, now, if_version (or ""), least version,
 * stored version that the plan expects (or ""), JSON, expiry time (or `-`), origin, number of watchers, and for each
 * watcher its id and kinds.
 *
 * Returns one of:
 * - `{"done", {status, stored record or false, version, sequence numbers of the first and second change}...}`
 * - `{"conflict", index, actual}`
 * - `{"moved"}` if a stored version is not the expected one
 * - `{"overfull", watcher, waiting}` if the watcher would have too many pending deliveries
 * - `{"too_large", bytes}` if the writes replace too many bytes
 */
export const writeScript = `
local P, OWNER, MOST_WAITING, MOST_BYTES = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local SET_BY, COUNT = tonumber(ARGV[5]), tonumber(ARGV[6])
local MOST_EMPTY = 10000
local position = 6
local function take()
  position = position + 1
  return ARGV[position]
end
local function print_version(version)
  return string.format('%.0f', version)
end

local records, floors, more, plans, replaced = {}, {}, {}, {}, 0

local function floor_of(scope)
  if floors[scope] == nil then
    local own = tonumber(redis.call('HGET', P .. 'floors', scope) or 0)
    floors[scope] = math.max(own, tonumber(redis.call('GET', P .. 'floor') or 0))
  end
  return floors[scope]
end

for index = 1, COUNT do
  local kind, scope, key, now = take(), take(), take(), tonumber(take())
  local if_version, least_version, planned_for = tonumber(take()), tonumber(take()), tonumber(take())
  local json, expires, origin, watchers = take(), take(), take(), tonumber(take())
  local wanted = {}
  for each = 1, watchers do
    wanted[each] = { id = take(), kinds = take() }
  end
  local id = #scope .. ':' .. scope .. key
  local old = records[id]
  if old == nil then
    old = redis.call('HGET', P .. 'items:' .. scope, key)
  end
  local version, updated, old_expires, start = 0, nil, '-', 1
  if old then
    version, updated, old_expires, start = string.match(old, '^(%d+) (%S+) (%S+)\\n()')
    version = tonumber(version)
  end
  if planned_for and planned_for ~= version then
    return { 'moved' }
  end
  local alive = old and (old_expires == '-' or tonumber(old_expires) + SET_BY > now)
  local actual = alive and version or 0
  if if_version and if_version ~= actual and not (kind == 'delete' and old and if_version == version) then
    return { 'conflict', tostring(index - 1), print_version(actual) }
  end

  local plan = { id = id, scope = scope, key = key, origin = origin, changes = {}, old = old, old_expires = old_expires, expires = expires }
  plan.old_bytes = old and #old - start + 1 or 0
  plan.bytes = #json
  plan.status = 'unchanged'
  plan.version = version
  local function change(name, number, previous, value)
    local receivers = {}
    for _, watcher in ipairs(wanted) do
      if string.find(watcher.kinds, name, 1, true) then
        receivers[#receivers + 1] = watcher.id
        more[watcher.id] = (more[watcher.id] or 0) + 1
      end
    end
    plan.changes[#plan.changes + 1] = { kind = name, version = print_version(number), previous = previous, json = value, at = print_version(now), receivers = receivers }
  end
  if kind == 'delete' then
    if old then
      plan.status = 'written'
      plan.row = 'remove'
      plan.version = version + 1
      change('deleted', plan.version, string.sub(old, start), false)
      records[id] = false
      plan.floor = math.max(floor_of(scope), plan.version)
      floors[scope] = plan.floor
    end
  elseif alive and plan.old_bytes == #json and string.sub(old, start) == json then
    if old_expires ~= expires then
      plan.row = 'put'
      plan.record = print_version(version) .. ' ' .. updated .. ' ' .. expires .. '\\n' .. json
      records[id] = plan.record
    end
  else
    plan.status = 'written'
    plan.row = 'put'
    if old and not alive then
      version = version + 1
      change('deleted', version, string.sub(old, start), false)
    elseif not old then
      version = floor_of(scope)
    end
    plan.version = math.max(version + 1, least_version)
    if alive then
      change('updated', plan.version, string.sub(old, start), json)
    else
      change('created', plan.version, false, json)
    end
    plan.record = print_version(plan.version) .. ' ' .. print_version(now) .. ' ' .. expires .. '\\n' .. json
    records[id] = plan.record
  end
  replaced = replaced + plan.old_bytes
  plans[index] = plan
end

if COUNT > 1 and replaced > MOST_BYTES then
  return { 'too_large', print_version(replaced) }
end
for watcher, count in pairs(more) do
  local waiting = redis.call('ZCARD', P .. 'waiting:' .. OWNER .. ':' .. watcher)
  if waiting + count > MOST_WAITING then
    return { 'overfull', watcher, tostring(waiting) }
  end
end

local function count_bytes(plan, difference)
  if difference ~= 0 then
    redis.call('HINCRBY', P .. 'bytes', plan.scope, difference)
  end
end

local function put(plan)
  redis.call('HSET', P .. 'items:' .. plan.scope, plan.key, plan.record)
  if not plan.old then
    redis.call('ZADD', P .. 'keys:' .. plan.scope, 0, plan.key)
    if redis.call('ZADD', P .. 'scopes', 0, plan.scope) == 1 then
      redis.call('SREM', P .. 'empty', plan.scope)
    end
  end
  count_bytes(plan, plan.bytes - plan.old_bytes)
  if plan.expires ~= '-' then
    redis.call('ZADD', P .. 'expiry', plan.expires, plan.id)
  elseif plan.old_expires ~= '-' then
    redis.call('ZREM', P .. 'expiry', plan.id)
  end
end

local function fold_empty_scopes()
  local floor = tonumber(redis.call('GET', P .. 'floor') or 0)
  for _, scope in ipairs(redis.call('SMEMBERS', P .. 'empty')) do
    floor = math.max(floor, tonumber(redis.call('HGET', P .. 'floors', scope) or 0))
    redis.call('HDEL', P .. 'floors', scope)
  end
  redis.call('SET', P .. 'floor', print_version(floor))
  redis.call('DEL', P .. 'empty')
end

local function remove(plan)
  redis.call('HDEL', P .. 'items:' .. plan.scope, plan.key)
  redis.call('ZREM', P .. 'keys:' .. plan.scope, plan.key)
  redis.call('HSET', P .. 'floors', plan.scope, print_version(plan.floor))
  count_bytes(plan, -plan.old_bytes)
  if plan.old_expires ~= '-' then
    redis.call('ZREM', P .. 'expiry', plan.id)
  end
  if redis.call('EXISTS', P .. 'keys:' .. plan.scope) == 0 then
    redis.call('ZREM', P .. 'scopes', plan.scope)
    redis.call('HDEL', P .. 'bytes', plan.scope)
    redis.call('SADD', P .. 'empty', plan.scope)
    if redis.call('SCARD', P .. 'empty') > MOST_EMPTY then
      fold_empty_scopes()
    end
  end
end

local function deliver(plan, change)
  if #change.receivers == 0 then
    return false
  end
  local seq = print_version(redis.call('INCR', P .. 'seq'))
  local name = P .. 'change:' .. seq
  redis.call('HSET', name, 'kind', change.kind, 'scope', plan.scope, 'key', plan.key, 'version', change.version, 'at', change.at,
    'origin', plan.origin, 'waiting', #change.receivers)
  if change.previous then
    redis.call('HSET', name, 'previous', change.previous)
  end
  if change.json then
    redis.call('HSET', name, 'json', change.json)
  end
  for _, watcher in ipairs(change.receivers) do
    redis.call('ZADD', P .. 'waiting:' .. OWNER .. ':' .. watcher, seq, seq)
    redis.call('SADD', P .. 'watchers:' .. OWNER, watcher)
  end
  return seq
end

local answer = { 'done' }
for index, plan in ipairs(plans) do
  if plan.row == 'put' then
    put(plan)
  elseif plan.row == 'remove' then
    remove(plan)
  end
  local first = plan.changes[1] and deliver(plan, plan.changes[1]) or false
  local second = plan.changes[2] and deliver(plan, plan.changes[2]) or false
  answer[index + 1] = { plan.status, plan.old, print_version(plan.version), first, second }
end
return answer
`;
