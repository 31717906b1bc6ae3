-- Reads records by a random id. Arguments: where their paths begin, the highest id, a seed.
local head, tail, highest

function init(args)
   highest = tonumber(args[2])
   math.randomseed(args[3] * 1000 + number)
   -- The request is put together once, but for the id.
   head, tail = wrk.format("GET", args[1] .. "@"):match("^(.-)@(.*)$")
end

function request()
   return head .. math.random(1, highest) .. tail
end
