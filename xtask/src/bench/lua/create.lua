-- Creates leads of random people. Arguments: a seed, the highest id (unused), the path, "key" to send idempotency keys or
-- "plain", the headers that present keys, of which each request has one.
local BODY = '{"name":"Alex Example ######","email":"alex.######@buyer.example","mobile":"+447400######",'
   .. '"type":["test_drive"],"data":{"source":"Website enquiry form","subject":"Test drive",'
   .. '"message":"Hello, is the car still there? I could come by on Saturday for a test drive.",'
   .. '"url":"https://www.harbourlane.example/used-cars/######"}}'

local requests = {}
local sent = 0

function init(args)
   math.randomseed(args[1] * 1000 + number)
   for i = 5, #args do
      local headers = { ["Authorization"] = args[i]:match(": (.*)"), ["Content-Type"] = "application/json" }
      if args[4] == "key" then
         headers["Idempotency-Key"] = string.format("bench-%d-%d-@@@@@@@@", args[1], number)
      end
      -- A request is put together once, but for the digits; their number never changes, so neither does its length.
      table.insert(requests, wrk.format("POST", args[3], headers, BODY))
   end
end

function request()
   sent = sent + 1
   local whole = requests[math.random(#requests)]
   local person = whole:gsub("######", string.format("%06d", math.random(0, 999999)))
   return (person:gsub("@@@@@@@@", string.format("%08d", sent)))
end
