-- flags=allow-oom
-- Bury nodes whose lease is over by the store's time and by the caller's, and name attempts that nobody alive holds.
-- Promises: from here on the buried can neither claim nor finish. A lease that is hours too long is cut.
-- Answers OK, how many were buried, for each its id, facts, end of lease and number of attempts; then for at most
-- `limit` + 1 lost attempts of jobs that are in service: the node and the attempt.

if is_other() then return answer('BIRTH') end
if is_held() then return answer('OK', '0') end -- a lost heartbeat does not prove that a node is dead
local time, buried, living = now(), {}, {}
local over = math.min(time, asked.now)
local all = redis.call('HGETALL', T .. ':until')
for at = 1, #all, 2 do
  local node, till = all[at], tonumber(all[at + 1])
  if till > time + asked.lease + asked.correction then
    till = time + asked.lease
    redis.call('HSET', T .. ':until', node, whole(till))
  end
  if till < over then
    buried[#buried + 1] = node
    buried[#buried + 1] = redis.call('HGET', T .. ':nodes', node) or ''
    buried[#buried + 1] = whole(till)
    buried[#buried + 1] = tostring(redis.call('HLEN', T .. ':o:' .. node))
    redis.call('HDEL', T .. ':until', node)
    redis.call('HDEL', T .. ':nodes', node)
    redis.call('ZADD', T .. ':dead', micros(), node)
  else
    living[node] = true
  end
end
if #buried > 0 then
  redis.call('INCR', T .. ':seq')
  redis.call('ZREMRANGEBYSCORE', T .. ':dead', '-inf', micros() - asked.remembered)
end

local lost = {}
for _, node in ipairs(redis.call('SMEMBERS', T .. ':holders')) do
  if not living[node] then
    local held = redis.call('HKEYS', T .. ':o:' .. node)
    if #held == 0 then
      redis.call('SREM', T .. ':holders', node)
      redis.call('DEL', T .. ':x:' .. node)
    end
    for _, attempt in ipairs(held) do
      if #lost > 2 * asked.limit then break end
      local key = string.match(attempt, '^[^\n]*')
      if redis.call('HEXISTS', T .. ':damaged', key) == 0 then
        lost[#lost + 1] = node
        lost[#lost + 1] = attempt
      end
    end
  end
end
local answers = answer('OK', tostring(#buried / 4))
for _, word in ipairs(buried) do answers[#answers + 1] = word end
for _, word in ipairs(lost) do answers[#answers + 1] = word end
return answers
