-- What all scripts begin with. KEYS[1] is the namespace in braces: all keys begin with it, so all are in one slot.
-- ARGV[1] is a JSON object with what the call is about; the rest of ARGV are jobs to be written.
--
-- A job to be written is: its key, the mark that its text must begin with ('' if it must not be there), its new
-- text ('' forgets it, '=' leaves it and takes it out of the index of what is due), a number of operations, and
-- each operation in four words. A job without a key has operations only.

local T = KEYS[1]
local asked = cjson.decode(ARGV[1])
local LONGEST = 4000 -- words of one command

local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The store's time: the server's, or what a test has told.
local function now()
  return asked.told or micros()
end

local function whole(number)
  return string.format('%.0f', number)
end

-- Whether this is still the store that the caller knows; otherwise somebody has emptied it.
local function is_other()
  return redis.call('HGET', T .. ':meta', 'birth') ~= asked.birth
end

-- How many writes there had been before this script, and are now: by the first the caller sees whether some that
-- it knows of are gone.
local began = redis.call('GET', T .. ':seq') or '0'

local function answer(status, ...)
  return { status, began, redis.call('GET', T .. ':seq') or '0', ... }
end

-- Lane and wake of a job's text; nil if it has none, or cannot be read.
local function place_of(text)
  local lane, wake = string.match(text or '', '^%S+ (%S+) (%S+) ')
  if lane ~= '-' then return lane, wake end
end

local function jobs_of(words, first)
  local jobs, at = {}, first
  while at <= #words do
    local count = tonumber(words[at + 3])
    jobs[#jobs + 1] = { key = words[at], mark = words[at + 1], text = words[at + 2], first = at + 4, count = count }
    at = at + 4 + 4 * count
  end
  return jobs
end

-- The texts that jobs have now, by their places in the list.
local function texts_of(jobs)
  local keys = {}
  for place, job in ipairs(jobs) do keys[place] = job.key end
  if #keys == 0 then return {} end
  return redis.call('HMGET', T .. ':s', unpack(keys))
end

local function has_mark(text, mark)
  if not text then return mark == '' end
  return string.match(text, '^%S*') == mark
end

-- Whether a moment has come, or is so far ahead that the server's clock must have been set back since.
local LONGEST_MOMENT = 5000000

local function is_over(till, time)
  return till < time or till > time + LONGEST_MOMENT
end

-- Whether nobody may claim: nodes write again what the server has lost.
local function is_held()
  local till = redis.call('HGET', T .. ':meta', 'hold_until')
  return till and not is_over(tonumber(till), micros())
end

-- Sources that a revision holds still, each with its stage. One whose writer has been silent for too long goes on.
local function frozen_sources()
  local found, time = {}, micros()
  local all = redis.call('HGETALL', T .. ':frozen')
  for at = 1, #all, 2 do
    local stage, till = string.match(all[at + 1], '^(%S+) (%S+)$')
    if till ~= 'applying' and is_over(tonumber(till), time) then
      redis.call('HDEL', T .. ':frozen', all[at])
    else
      found[all[at]] = { stage = stage, is_applying = till == 'applying' }
    end
  end
  return found
end

local function source_of(key)
  return string.match(key, '^[^/]*')
end

-- Commands that are gathered, so that each key is written by few of them.
local gathered, order = {}, {}

local function gather(command, key, first, second)
  local name = command .. ' ' .. key
  local words = gathered[name]
  if not words then
    words = { command = command, key = T .. ':' .. key }
    gathered[name] = words
    order[#order + 1] = words
  end
  words[#words + 1] = first
  if second then words[#words + 1] = second end
end

local function carry_out()
  for _, words in ipairs(order) do
    for first = 1, #words, LONGEST do
      redis.call(words.command, words.key, unpack(words, first, math.min(first + LONGEST - 1, #words)))
    end
  end
end

-- An alert that is there already stays as it is.
local function tell(channel, id, text)
  local name, at = id .. '\n' .. channel, string.sub(text, 1, 16)
  if redis.call('HSETNX', T .. ':alerts', name, string.sub(text, 17)) == 1 then
    redis.call('ZADD', T .. ':ax', 0, at .. name)
    redis.call('ZADD', T .. ':aw:' .. channel, 0, at .. id)
    redis.call('SADD', T .. ':channels', channel)
  end
end

local operations = {
  HSET = function(key, field, value) gather('HSET', key, field, value) end,
  HDEL = function(key, field) gather('HDEL', key, field) end,
  ZADD = function(key, score, member) gather('ZADD', key, score, member) end,
  ZREM = function(key, member) gather('ZREM', key, member) end,
  SADD = function(key, member) gather('SADD', key, member) end,
  SREM = function(key, member) gather('SREM', key, member) end,
  DEL = function(key) redis.call('DEL', T .. ':' .. key) end,
  PUSH = function(key, kept, value)
    redis.call('LPUSH', T .. ':' .. key, value)
    redis.call('LTRIM', T .. ':' .. key, 0, kept - 1)
  end,
  KEEP = function(key, number, value) redis.call('HSETNX', T .. ':' .. key, number, value) end,
  ALERT = tell,
}

local function write(job, words, text)
  if job.key ~= '' then
    local lane, wake = place_of(text)
    local new_lane, new_wake
    if job.text ~= '=' then new_lane, new_wake = place_of(job.text) end
    if lane ~= new_lane or wake ~= new_wake then
      if lane then gather('ZREM', 'w:' .. lane, wake .. job.key) end
      if new_lane then gather('ZADD', 'w:' .. new_lane, 0, new_wake .. job.key) end
    end
    if job.text == '' then
      gather('HDEL', 's', job.key)
      gather('HDEL', 'd', job.key)
    elseif job.text ~= '=' then
      gather('HSET', 's', job.key, job.text)
    end
  end
  for at = job.first, job.first + 4 * job.count - 1, 4 do
    operations[words[at]](words[at + 1], words[at + 2], words[at + 3])
  end
end
