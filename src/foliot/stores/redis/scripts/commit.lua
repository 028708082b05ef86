-- Write jobs, each only if its text still begins with the mark that was read: all at once, or none is touched.
-- Promises: nothing is written for a node that is buried, or, where a lease is asked for, whose lease has run out;
-- nothing but what was lost while processes write that again;
-- nothing twice for one claim; no more of a group than its limit; nothing for a source that a revision holds still, or that is at another revision.
-- With `whole`, either all of the jobs are written or none. Answers OK and the places of jobs that were refused.

local unfit = refusal()
if unfit then return unfit end

local jobs = jobs_of(ARGV, 2)
local frozen = redis.call('HLEN', T .. ':frozen') > 0 and frozen_sources() or {}
local texts, refused = texts_of(jobs), {}
for place, job in ipairs(jobs) do
  local held = frozen[source_of(job.key)]
  if held then return answer('FROZEN', held.stage, held.is_applying and 1 or 0) end
  if job.key ~= '' and not has_mark(texts[place], job.mark) then
    refused[#refused + 1] = place - 1
    job.is_refused = true
  end
end

-- How many attempts of a group run. Those that their nodes no longer hold are forgotten here.
local function running(group)
  local found, key = 0, T .. ':g:' .. group
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    if redis.call('HEXISTS', T .. ':o:' .. all[at + 1], all[at]) == 1 then
      found = found + 1
    else
      redis.call('HDEL', key, all[at])
    end
  end
  return found
end

local counts = {}
for _, start in ipairs(asked.starts or {}) do
  local place, group, count = start[1], start[2], start[3]
  local job = jobs[place + 1]
  counts[group] = counts[group] or running(group)
  if not job.is_refused then
    if counts[group] + count > (asked.limits[group] or 0) then
      refused[#refused + 1] = place
      job.is_refused = true
    else
      counts[group] = counts[group] + count
    end
  end
end
if asked.whole and #refused > 0 then return answer('OK', unpack(refused)) end

for place, job in ipairs(jobs) do
  if not job.is_refused then write(job, ARGV, texts[place]) end
  if asked.claim and job.key ~= '' then gather('HDEL hold', job.key) end
end
carry_out()
if asked.claim then redis.call('SET', T .. ':c:' .. asked.claim, asked.asker, 'PX', asked.kept) end
redis.call('INCR', T .. ':seq')
if asked.has_news then redis.call('PUBLISH', T .. ':hint', '') end
return answer('OK', unpack(refused))
