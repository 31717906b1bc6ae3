-- Reads records by a random id. Arguments: a seed, the highest id, where their paths begin.
local head, tail, highest

function init(args)
   math.randomseed(args[1] * 1000 + number)
   highest = tonumber(args[2])
   -- The request is put together once, but for the id.
   head, tail = wrk.format("GET", args[3] .. "@"):match("^(.-)@(.*)$")
end

function request()
   return head .. math.random(1, highest) .. tail
end
