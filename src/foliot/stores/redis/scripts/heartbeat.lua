-- flags=allow-oom
-- The life of a node: join, renew, leave. Promises: an id whose life has ended never lives again; a time without
-- any node is noted by the first that comes after it.
-- Answers OK, the store's time, the end of the lease, how many attempts it holds, and those to be cancelled.

if is_other() then return answer('BIRTH') end
local node, time = asked.node, now()
local is_dead = redis.call('ZSCORE', T .. ':dead', node)
local is_known = redis.call('HEXISTS', T .. ':until', node) == 1
if is_dead or not is_known and asked.verb ~= 'join' then return answer('BURIED') end
redis.call('INCR', T .. ':seq')

-- A time in which no node lived, as far as the store knows: from the last sign of life to this one.
local function note_outage()
  local seen = tonumber(redis.call('HGET', T .. ':meta', 'seen') or '')
  for _, till in ipairs(redis.call('HVALS', T .. ':until')) do
    if tonumber(till) > time then return end
  end
  if seen and seen < time then
    redis.call('LPUSH', T .. ':outages', whole(seen) .. ' ' .. whole(time))
    redis.call('LTRIM', T .. ':outages', 0, asked.outages - 1)
  end
end

if asked.verb ~= 'leave' then note_outage() end
redis.call('HSET', T .. ':meta', 'seen', whole(time))
if asked.verb == 'leave' then
  redis.call('HDEL', T .. ':until', node)
  redis.call('HDEL', T .. ':nodes', node)
  redis.call('ZADD', T .. ':dead', micros(), node)
  return answer('OK')
end
if asked.facts then redis.call('HSET', T .. ':nodes', node, asked.facts) end
local till = time + asked.lease
redis.call('HSET', T .. ':until', node, whole(till))
return answer('OK', whole(time), whole(till), redis.call('HLEN', T .. ':o:' .. node),
  unpack(redis.call('SMEMBERS', T .. ':x:' .. node)))
