-- Prints the result of the run as JSON, on a line of its own. Latencies are in milliseconds.
function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '\n{"requests":%d,"per_second":%f,"p50":%f,"p99":%f,"failed":%d}\n',
      summary.requests, summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3,
      latency:percentile(99) / 1e3, errors.status + errors.connect + errors.read + errors.write + errors.timeout
   ))
end

-- Each thread draws numbers of its own.
local threads = 0
function setup(thread)
   threads = threads + 1
   thread:set("number", threads)
end
