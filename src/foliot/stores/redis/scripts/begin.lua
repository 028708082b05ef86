-- Make the store, if there is none in this namespace. Promises: one who makes it decides when it was born.
-- Answers OK, its birth and its schema.

redis.call('HSETNX', T .. ':meta', 'birth', asked.birth)
redis.call('HSETNX', T .. ':meta', 'schema', asked.schema)
return answer('OK', redis.call('HGET', T .. ':meta', 'birth'), redis.call('HGET', T .. ':meta', 'schema'))
