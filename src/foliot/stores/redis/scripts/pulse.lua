-- flags=allow-oom
-- The life of a node: join, renew, leave. Promises: an id whose life has ended never lives again.
-- Answers OK, the store's time, the end of the lease, how many attempts it holds, and those to be cancelled.

if is_other() then return answer('BIRTH') end
local node, time = asked.node, now()
local is_dead = redis.call('ZSCORE', T .. ':dead', node)
local is_known = redis.call('HEXISTS', T .. ':until', node) == 1
if is_dead or not is_known and asked.verb ~= 'join' then return answer('BURIED') end
redis.call('INCR', T .. ':seq')
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
