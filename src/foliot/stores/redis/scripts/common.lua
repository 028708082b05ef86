-- What all scripts begin with. KEYS[1] is the namespace in braces: all keys begin with it, so all are in one slot.
-- ARGV[1] is a JSON object with what the call is about; the rest of ARGV are jobs to be written.
--
-- A job to be written is: its key, the mark that its text must begin with ('' if it must not be there), its new
-- text ('' forgets it, '=' leaves it and takes it out of the index of what is due), a number of operations, and
-- each operation in three words: a command with its key ('HSET busy'), and what it writes there. A job without a key has
-- operations only.

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
    at = at + 4 + 3 * count
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
  local length = #mark
  if length == 0 then return text == '' end
  if string.sub(text, 1, length) ~= mark then return false end
  return #text == length or string.byte(text, length + 1) == 32
end

-- Whether a moment has come, or is so far ahead that the server's clock must have been set back since.
local LONGEST_MOMENT = 5000000

local function is_over(till, time)
  return till < time or till > time + LONGEST_MOMENT
end

-- Whether processes write again what the server has lost: until then no other write may change a job. A lost write is
-- refused for good if its job has changed meanwhile.
local function is_held()
  local till = redis.call('HGET', T .. ':meta', 'hold_until')
  return till and not is_over(tonumber(till), micros())
end

-- The answer to a write for which something does not hold that must hold beside the marks; nil: all holds.
local function refusal()
  if is_other() then return answer('BIRTH') end
  if asked.node then
    local till = redis.call('HGET', T .. ':until', asked.node)
    if not till then return answer('BURIED') end
    if asked.needs_lease and (now() >= tonumber(till) or is_held()) then return answer('LATE') end
  end
  if not asked.heals and is_held() then return answer('HELD') end
  if asked.source then
    local found = redis.call('HGET', T .. ':rev', asked.source)
    if found ~= (asked.base or false) then return answer('STALE') end
  end
  if asked.claim then
    local owner = redis.call('GET', T .. ':c:' .. asked.claim)
    if owner and owner ~= asked.asker then return answer('CLAIMED') end
  end
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

-- Commands that are gathered, so that each key is written by few of them. Their names are those of operations.
local gathered, order = {}, {}
local IS_PAIR = { HSET = true, ZADD = true }
local at_once = {} -- commands that are carried out one by one, each a function

local function begin(name)
  local command, key = string.match(name, '^(%S+) (.*)$')
  local words = { command = command, key = T .. ':' .. key, count = 0, is_pair = IS_PAIR[command], call = at_once[command] }
  gathered[name] = words
  if not words.call then order[#order + 1] = words end
  return words
end

local function gather(name, first, second)
  local words = gathered[name] or begin(name)
  local count = words.count
  if words.call then
    words.call(words.key, first, second)
  elseif words.is_pair then
    words[count + 1], words[count + 2], words.count = first, second, count + 2
  else
    words[count + 1], words.count = first, count + 1
  end
end

local function carry_out()
  for _, words in ipairs(order) do
    for first = 1, words.count, LONGEST do
      redis.call(words.command, words.key, unpack(words, first, math.min(first + LONGEST - 1, words.count)))
    end
  end
end

-- An alert that is there already stays as it is.
function at_once.ALERT(key, id, text)
  local channel = string.sub(key, #T + 2)
  local name, at = id .. '\n' .. channel, string.sub(text, 1, 16)
  if redis.call('HSETNX', T .. ':alerts', name, string.sub(text, 17)) == 1 then
    redis.call('ZADD', T .. ':ax', 0, at .. name)
    redis.call('ZADD', T .. ':aw:' .. channel, 0, at .. id)
    redis.call('SADD', T .. ':channels', channel)
  end
end

function at_once.DEL(key) redis.call('DEL', key) end

function at_once.KEEP(key, number, value) redis.call('HSETNX', key, number, value) end

function at_once.PUSH(key, kept, value)
  redis.call('LPUSH', key, value)
  redis.call('LTRIM', key, 0, kept - 1)
end

local function write(job, words, text)
  if job.key ~= '' then
    local lane, wake = place_of(text)
    local new_lane, new_wake
    if job.text ~= '=' then new_lane, new_wake = place_of(job.text) end
    if lane ~= new_lane or wake ~= new_wake then
      if lane then gather('ZREM w:' .. lane, wake .. job.key) end
      if new_lane then gather('ZADD w:' .. new_lane, '0', new_wake .. job.key) end
    end
    if job.text == '' then
      gather('HDEL s', job.key)
      gather('HDEL d', job.key)
    elseif job.text ~= '=' then
      gather('HSET s', job.key, job.text)
    end
  end
  for at = job.first, job.first + 3 * job.count - 1, 3 do
    gather(words[at], words[at + 1], words[at + 2])
  end
end
