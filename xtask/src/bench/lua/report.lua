-- Tells as JSON, on a line of its own, what the run came to. Times are in microseconds.
function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '\n{"requests":%d,"took":%d,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\n',
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
      errors.connect + errors.read + errors.write + errors.timeout
   ))
end

-- Each thread draws numbers of its own.
local threads = 0
function setup(thread)
   threads = threads + 1
   thread:set("number", threads)
end
