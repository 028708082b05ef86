-- The steps of a revision that is too large for one script. Its jobs wait in lists, of some hundred jobs each,
-- in the form in which a commit has them; nobody else sees them until the revision counts.
--   freeze  hold the source still, if it is at `base`; again, as a sign of life
--   verify  the places of jobs of one list whose marks no longer hold
--   count   the revision counts from now on: whoever meets it applies it. Its own operations are in ARGV
--   apply   write the jobs of one list; answers how many lists are left
-- Promises: a source is held still by one stage only; what counts is applied once, in whole lists.

if is_other() then return answer('BIRTH') end
local frozen = T .. ':frozen'

local function list_of(number)
  return T .. ':stage:' .. asked.stage .. ':' .. number
end

local function is_ours()
  local held = frozen_sources()[asked.source]
  return held and held.stage == asked.stage
end

if asked.step == 'freeze' then
  if is_held() then return answer('HELD') end
  if redis.call('HGET', T .. ':rev', asked.source) ~= (asked.base or false) then return answer('STALE') end
  local held = frozen_sources()[asked.source]
  if held and held.stage ~= asked.stage then
    return answer('FROZEN', held.stage, held.is_applying and 1 or 0)
  end
  redis.call('HSET', frozen, asked.source, asked.stage .. ' ' .. whole(micros() + asked.silence))
  return answer('OK')
end

if asked.step == 'verify' then
  if not is_ours() then return answer('LOST') end
  redis.call('HSET', frozen, asked.source, asked.stage .. ' ' .. whole(micros() + asked.silence))
  local jobs, refused = jobs_of(redis.call('LRANGE', list_of(asked.list), 0, -1), 1), {}
  for place, text in ipairs(texts_of(jobs)) do
    if not has_mark(text, jobs[place].mark) then refused[#refused + 1] = place - 1 end
  end
  return answer('OK', unpack(refused))
end

if asked.step == 'count' then
  if not is_ours() then return answer('LOST') end
  if redis.call('HGET', T .. ':rev', asked.source) ~= (asked.base or false) then return answer('STALE') end
  for number = 0, asked.lists - 1 do redis.call('PERSIST', list_of(number)) end
  for _, job in ipairs(jobs_of(ARGV, 2)) do write(job, ARGV) end
  carry_out()
  redis.call('HSET', frozen, asked.source, asked.stage .. ' applying')
  redis.call('HSET', T .. ':applying', asked.stage, cjson.encode({ asked.source, asked.lists, 0 }))
  redis.call('INCR', T .. ':seq')
  return answer('OK')
end

local found = redis.call('HGET', T .. ':applying', asked.stage)
if not found then return answer('OK', 0) end
local source, lists, number = unpack(cjson.decode(found))
local words = redis.call('LRANGE', list_of(number), 0, -1)
local jobs = jobs_of(words, 1)
local texts = texts_of(jobs)
for place, job in ipairs(jobs) do write(job, words, texts[place]) end
carry_out()
redis.call('DEL', list_of(number))
if number + 1 < lists then
  redis.call('HSET', T .. ':applying', asked.stage, cjson.encode({ source, lists, number + 1 }))
else
  redis.call('HDEL', T .. ':applying', asked.stage)
  redis.call('HDEL', frozen, source)
  redis.call('PUBLISH', T .. ':hint', '')
end
redis.call('INCR', T .. ':seq')
return answer('OK', lists - number - 1)
