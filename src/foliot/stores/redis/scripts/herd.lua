-- Start or end runs of jobs that are alike, each only if its text still begins with the mark that was read.
-- The words are columns: keys, marks, new texts, and for ends the attempts and when to look at each history. A herd is
-- so many jobs, one after the other, that share a lane, a wake and the end of their runs' names.
-- Promises: those of `commit`. Answers OK and the places of jobs that were refused.

local unfit = refusal()
if unfit then return unfit end

local count = asked.count

local function column(number)
  local first = 2 + (number - 1) * count
  return { unpack(ARGV, first, first + count - 1) }
end

local keys, marks, texts = column(1), column(2), column(3)
if redis.call('HLEN', T .. ':frozen') > 0 then
  local frozen = frozen_sources()
  for _, key in ipairs(keys) do
    local held = frozen[source_of(key)]
    if held then return answer('FROZEN', held.stage, held.is_applying and 1 or 0) end
  end
end
local stored, is_refused, refused = redis.call('HMGET', T .. ':s', unpack(keys)), {}, {}
for at = 1, count do
  if not has_mark(stored[at], marks[at]) then
    refused[#refused + 1] = at
    is_refused[at] = true
  end
end
if #refused == count then return answer('OK', unpack(refused)) end

-- What each job of a herd that is not refused gets: its place in the columns, and how many there were before it.
local function each(visit)
  local at, done = 0, 0
  for _, herd in ipairs(asked.herds) do
    for _ = 1, herd.count do
      at = at + 1
      if not is_refused[at] then
        visit(at, keys[at], herd, done)
        done = done + 1
      end
    end
  end
end

local put, names = {}, {}

local function start()
  local busy, members, lanes = {}, {}, {}
  local function lane_of(name)
    local lane = lanes[name] or { gone = {}, come = {} }
    lanes[name] = lane
    return lane
  end
  each(function(at, key, herd, done)
    local odd, even, lane = 2 * done + 1, 2 * done + 2, lane_of(herd.lane)
    put[odd], put[even] = key, texts[at]
    busy[odd], busy[even] = key, '1'
    names[odd], names[even] = key .. herd.name, string.format('%x ', asked.first + at) .. asked.claimed
    members[odd], members[even] = '0', herd.wake .. key .. '\0\0' .. '0000000001'
    lane.gone[#lane.gone + 1] = herd.wake .. key
    if herd.next then
      lane.come[#lane.come + 1] = '0'
      lane.come[#lane.come + 1] = herd.next .. key
    end
  end)
  for name, lane in pairs(lanes) do
    redis.call('ZREM', T .. ':w:' .. name, unpack(lane.gone))
    if #lane.come > 0 then redis.call('ZADD', T .. ':w:' .. name, unpack(lane.come)) end
  end
  redis.call('HSET', T .. ':busy', unpack(busy))
  redis.call('HSET', T .. ':o:' .. asked.holder, unpack(names))
  redis.call('ZADD', T .. ':e', unpack(members))
  redis.call('SADD', T .. ':holders', asked.holder)
  if asked.claim then
    redis.call('SET', T .. ':c:' .. asked.claim, asked.asker, 'PX', asked.kept)
    if redis.call('EXISTS', T .. ':hold') == 1 then redis.call('HDEL', T .. ':hold', unpack(keys)) end
  end
end

local function finish()
  local rows, ripe_at, idle, ripe = column(4), column(5), {}, {}
  each(function(at, key, herd, done)
    local odd, even = 2 * done + 1, 2 * done + 2
    put[odd], put[even] = key, texts[at]
    idle[done + 1] = key
    names[done + 1] = key .. herd.name
    redis.call('HSET', T .. ':h:' .. key, herd.id, rows[at])
    if ripe_at[at] ~= '' then
      ripe[#ripe + 1] = ripe_at[at]
      ripe[#ripe + 1] = key
    end
  end)
  redis.call('HDEL', T .. ':busy', unpack(idle))
  redis.call('HDEL', T .. ':o:' .. asked.holder, unpack(names))
  if #ripe > 0 then redis.call('ZADD', T .. ':ripe', unpack(ripe)) end
end

if asked.step == 'start' then start() else finish() end
redis.call('HSET', T .. ':s', unpack(put))
redis.call('INCR', T .. ':seq')
return answer('OK', unpack(refused))
