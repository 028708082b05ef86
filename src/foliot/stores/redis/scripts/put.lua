-- Write small records that belong to no job. Promises: all is written if each field that is named in `checks` has
-- the value that was read (or is not there, if none is given); otherwise nothing is. Answers OK, and 1 or 0.

if is_other() then return answer('BIRTH') end
for _, check in ipairs(asked.checks) do
  if redis.call('HGET', T .. ':' .. check[1], check[2]) ~= (check[3] or false) then return answer('OK', 0) end
end
for _, job in ipairs(jobs_of(ARGV, 2)) do write(job, ARGV) end
carry_out()
redis.call('INCR', T .. ':seq')
return answer('OK', 1)
