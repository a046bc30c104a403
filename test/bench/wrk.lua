-- Sends the requests of a file in random order, one per line: a path, or a path, a tab and a body.
-- In a body every @@@@@@@@@@@@ becomes a number of twelve digits that no request of this run of the
-- benchmark had before. Prints the summary as one line of JSON.
-- Arguments: method, file, number of this load (0 to 999).

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end

function init(args)
  method, loadNumber = args[1], tonumber(args[3])
  math.randomseed(loadNumber * 10 + number)
  paths, bodies, ready, sent = {}, {}, {}, 0
  for line in io.lines(args[2]) do
    local path, body = line:match('^([^\t]*)\t(.*)$')
    paths[#paths + 1] = path or line
    bodies[#paths] = body
    if not body then ready[#paths] = wrk.format(method, line) end
  end
  if #bodies > 0 then wrk.headers['content-type'] = 'application/json' end
end

function request()
  local pick = math.random(#paths)
  if ready[pick] then return ready[pick] end
  sent = sent + 1
  local stamp = string.format('%03d%08d%d', loadNumber, sent, number)
  local body = bodies[pick]:gsub('@@@@@@@@@@@@', stamp)
  return wrk.format(method, paths[pick], nil, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
