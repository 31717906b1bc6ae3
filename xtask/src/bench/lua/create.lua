-- Creates leads of random people. Arguments: the path, "key" to send idempotency keys or "plain", a seed.
local BODY = '{"name":"Alex Example ######","email":"alex.######@buyer.example","mobile":"+447400######",'
   .. '"type":["test_drive"],"data":{"source":"Website enquiry form","subject":"Test drive",'
   .. '"message":"Hello, is the car still there? I could come by on Saturday for a test drive.",'
   .. '"url":"https://www.harbourlane.example/used-cars/######"}}'

local whole
local sent = 0

function init(args)
   math.randomseed(args[3] * 1000 + number)
   local headers = {}
   for name, value in pairs(wrk.headers) do
      headers[name] = value
   end
   headers["Content-Type"] = "application/json"
   if args[2] == "key" then
      headers["Idempotency-Key"] = string.format("bench-%d-%d-@@@@@@@@", args[3], number)
   end
   -- The request is put together once, but for the digits; their number never changes, so neither does its length.
   whole = wrk.format("POST", args[1], headers, BODY)
end

function request()
   sent = sent + 1
   local person = whole:gsub("######", string.format("%06d", math.random(0, 999999)))
   return (person:gsub("@@@@@@@@", string.format("%08d", sent)))
end
