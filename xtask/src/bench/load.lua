-- What wrk sends, and how it reports. Arguments: "GET" or "POST", the highest id of a lead, and the headers that present a key,
-- of which each request has one. A path that ends with a slash is followed by a random id; what is posted is a lead of a random
-- person, and NUMBER in a header becomes one that no other request has.
local BODY = '{"name":"Alex Example ######","email":"alex.######@buyer.example","mobile":"+447400######",'
   .. '"type":["test_drive"],"data":{"source":"Website enquiry form","subject":"Test drive",'
   .. '"message":"Hello, is the car still there? I could come by on Saturday for a test drive.",'
   .. '"url":"https://www.harbourlane.example/used-cars/######"}}'

-- Each thread draws numbers of its own.
local threads = 0
function setup(thread)
   threads = threads + 1
   thread:set("number", threads)
end

-- Without a function `request` the same one is sent over and over.
function init(args)
   local method, highest = args[1], tonumber(args[2])
   -- A run takes a second at least, so no two have the same.
   local run = string.format("%d-%d-", os.time(), number)
   math.randomseed(os.time() * 1000 + number)
   if method == "POST" then
      local requests, sent = {}, 0
      wrk.headers["Content-Type"] = "application/json"
      for i = 3, #args do
         wrk.headers["Authorization"] = args[i]:match(": (.*)")
         -- A request is put together once, but for the digits; their number never changes, so neither does its length.
         table.insert(requests, (wrk.format("POST", wrk.path, wrk.headers, BODY):gsub("NUMBER", run .. "@@@@@@@@")))
      end
      function request()
         sent = sent + 1
         local person = requests[math.random(#requests)]:gsub("######", string.format("%06d", math.random(0, 999999)))
         return (person:gsub("@@@@@@@@", string.format("%08d", sent)))
      end
   elseif wrk.path:sub(-1) == "/" then
      local head, tail = wrk.format("GET", wrk.path .. "@"):match("^(.-)@(.*)$")
      function request()
         return head .. math.random(1, highest) .. tail
      end
   end
end

-- Prints the result as JSON, on a line of its own. Latencies are in milliseconds.
function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '\n{"requests":%d,"per_second":%f,"p50":%f,"p99":%f,"failed":%d}\n',
      summary.requests, summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3,
      latency:percentile(99) / 1e3, errors.status + errors.connect + errors.read + errors.write + errors.timeout
   ))
end
