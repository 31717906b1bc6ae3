-- Counts one request in each of the windows KEYS, unless one of them has none left: then in none.
-- ARGV has two values for each window: its limit, or -1 if it is off, and its length in seconds.
-- Answers how many requests each window had counted before this one, and whether this one was counted.
local answer, allowed = {}, true
for window, key in ipairs(KEYS) do
    local used, limit = tonumber(redis.call('GET', key) or 0), tonumber(ARGV[2 * window - 1])
    allowed = allowed and (limit < 0 or used < limit)
    table.insert(answer, used)
end
if allowed then
    for window, key in ipairs(KEYS) do
        if redis.call('INCR', key) == 1 then
            redis.call('EXPIRE', key, ARGV[2 * window])
        end
    end
end
table.insert(answer, allowed and 1 or 0)
return answer
