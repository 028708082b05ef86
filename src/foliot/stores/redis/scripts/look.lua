-- Find what has been due for longest in some lanes, with all that is needed to decide about it.
-- Promises: in the order of wakes, then of keys; nothing of a source that a revision holds still. An entry of the
-- index that does not agree with its job's text is dropped. While several nodes live, what one looks at is hidden from
-- the others for a moment: that saves them a lost race, and is no lock, since a commit compares all the same. Answers
-- OK, what the node said of itself, whether a source is held still, what others do, and then
-- for each job: its place, its text, its definition.

if is_other() then return answer('BIRTH') end
local till = redis.call('HGET', T .. ':until', asked.node)
if not till then return answer('BURIED') end
local owner = redis.call('GET', T .. ':c:' .. asked.claim)
if owner and owner ~= asked.asker then return answer('CLAIMED') end
if now() >= tonumber(till) or is_held() then return answer('LATE') end
if redis.call('HLEN', T .. ':lanes') ~= asked.known then
  return answer('LANES', unpack(redis.call('HGETALL', T .. ':lanes')))
end

local frozen, has_frozen = {}, 0
if redis.call('HLEN', T .. ':frozen') > 0 then
  frozen = frozen_sources()
  for _, held in pairs(frozen) do
    if held.is_applying then return answer('FROZEN', held.stage, 1) end
  end
end

-- 0: this node is alone; 1: others live; 2: they have something at hand that is due.
local others = redis.call('HLEN', T .. ':until') > 1 and 1 or 0

-- Of jobs that are due, those that no other node has at hand; from now on this one has.
local function take(keys, entries)
  if others == 0 or #keys == 0 then return keys, entries end
  local time, free, kept, hidden = micros(), {}, {}, {}
  local found = redis.call('HMGET', T .. ':hold', unpack(keys))
  for at, key in ipairs(keys) do
    local till, node = string.match(found[at] or '', '^(%d+) (.*)$')
    if till and node ~= asked.node and not is_over(tonumber(till), time) then
      others = 2
    else
      free[#free + 1], kept[#kept + 1] = key, entries[at]
      hidden[#hidden + 1] = key
      hidden[#hidden + 1] = whole(time + asked.moment) .. ' ' .. asked.node
    end
  end
  if #hidden > 0 then redis.call('HSET', T .. ':hold', unpack(hidden)) end
  return free, kept
end

local last = '(' .. asked.due_by .. '\255'

local function page(lane, after, count)
  return redis.call('ZRANGEBYLEX', T .. ':w:' .. lane, after, last, 'LIMIT', 0, count)
end

-- By bytes: Lua itself compares by the server's locale.
local function is_before(one, other)
  local wake, other_wake = string.sub(one, 1, 16), string.sub(other, 1, 16)
  if wake ~= other_wake then return wake < other_wake end
  for at = 17, math.min(#one, #other) do
    local byte, other_byte = string.byte(one, at), string.byte(other, at)
    if byte ~= other_byte then return byte < other_byte end
  end
  return #one < #other
end

local function is_first(one, other)
  return is_before(one.member, other.member)
end

local function of_one(lane, after, count)
  local found = page(lane, after, count)
  for at, member in ipairs(found) do found[at] = { lane = lane, member = member } end
  return found
end

-- The first of all lanes together. Each lane gives a portion; what is certain to be in order is taken.
local function merged(lanes, after, count)
  if #lanes == 1 then return of_one(lanes[1], after, count) end
  local portion = math.max(8, math.ceil(2 * count / #lanes))
  local open, found = {}, {}
  for _, lane in ipairs(lanes) do
    local members = page(lane, after, portion)
    if #members > 0 then open[#open + 1] = { lane = lane, members = members, next = 1 } end
  end
  while #open > 0 and #found < count do
    local edge
    for _, one in ipairs(open) do
      local newest = one.members[#one.members]
      if #one.members == portion and (not edge or is_before(newest, edge)) then edge = newest end
    end
    local part = {}
    for _, one in ipairs(open) do
      while one.next <= #one.members and not (edge and is_before(edge, one.members[one.next])) do
        part[#part + 1] = { lane = one.lane, member = one.members[one.next] }
        one.next = one.next + 1
      end
    end
    if #open > 1 then table.sort(part, is_first) end
    for _, one in ipairs(part) do
      if #found < count then found[#found + 1] = one end
    end
    local left = {}
    for _, one in ipairs(open) do
      if one.next > #one.members and #one.members == portion then
        one.members = page(one.lane, '(' .. one.members[#one.members], portion)
        one.next = 1
      end
      if one.next <= #one.members then left[#left + 1] = one end
    end
    open = left
  end
  return found
end

-- Whether an entry of the index does not agree with a job's text; a text that cannot be read is shown as it is.
local function is_stale(text, lane, member)
  if not text then return true end
  local first = string.find(text, ' ', 1, true)
  local said = first and string.sub(text, first + 1, first + 30)
  if said == lane .. ' ' .. string.sub(member, 1, 16) .. ' ' then return false end
  local other = place_of(text)
  return other or string.match(text, '^%S+ %- ')
end

-- Some entries may be dropped or passed by: go on until there are enough, or there is nothing more.
local answers, after = {}, asked.after == '' and '-' or '(' .. asked.after
while #answers < 3 * asked.count do
  local wanted = asked.count - #answers / 3
  local found = merged(asked.lanes, after, wanted)
  local keys, kept = {}, {}
  for _, one in ipairs(found) do
    local key = string.sub(one.member, 17)
    if frozen[source_of(key)] then
      has_frozen = 1
    else
      keys[#keys + 1], kept[#kept + 1] = key, one
    end
  end
  keys, kept = take(keys, kept)
  if #keys > 0 then
    local texts = redis.call('HMGET', T .. ':s', unpack(keys))
    local definitions = redis.call('HMGET', T .. ':d', unpack(keys))
    for at, one in ipairs(kept) do
      if is_stale(texts[at], one.lane, one.member) then
        redis.call('ZREM', T .. ':w:' .. one.lane, one.member)
      else
        answers[#answers + 1] = one.lane .. one.member
        answers[#answers + 1] = texts[at]
        answers[#answers + 1] = definitions[at] or ''
      end
    end
  end
  if #found < wanted then break end
  after = '(' .. found[#found].member
end
return answer('OK', redis.call('HGET', T .. ':nodes', asked.node) or '', has_frozen, others, unpack(answers))
