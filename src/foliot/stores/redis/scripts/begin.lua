-- Make the store, if there is none in this namespace. Promises: one who makes it decides when it was born. A server
-- that is another process than before may have lost what it had answered: while several nodes live, no node changes
-- a job for a moment, so that each of them can write again what is lost. Answers OK, its birth, and with how many writes
-- the server has come back.

if redis.call('HSETNX', T .. ':meta', 'birth', asked.birth) == 1 and asked.step > 0 then
  redis.call('HSET', T .. ':meta', 'step', asked.step)
end
redis.call('HSETNX', T .. ':meta', 'schema', asked.schema)
local run = redis.call('HGET', T .. ':meta', 'run')
if run ~= asked.run or asked.has_lost then
  redis.call('HSET', T .. ':meta', 'run', asked.run, 'resumed', began)
  if (run or asked.has_lost) and redis.call('HLEN', T .. ':until') > 1 then
    redis.call('HSET', T .. ':meta', 'hold_until', whole(micros() + asked.hold))
  end
end
return answer('OK', unpack(redis.call('HMGET', T .. ':meta', 'birth', 'resumed')))
