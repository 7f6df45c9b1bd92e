-- SPDX-License-Identifier: Apache-2.0
-- Where the plug-in gsl.so cannot be loaded the default search goes on without,
-- and says so once; what was asked for by name is refused.
local ts = require "tessera"

local function search(strategy)
  local A = ts.placeholder("A", { 64, 48 })
  local B = ts.compute("B", { 64, 48 }, function(i, j) return A(i, j) * 2 end)
  return ts.tune(ts.program("twice", { A }, { B }), {
    trials = 8, seed = 1, strategy = strategy,
    measure = function() return 1e-3 end })
end

if arg[1] == "search" then
  search "bayesian:surrogate=forest"
  print "quiet"
  for _ = 1, 2 do print(search().trials > 0) end
  print(select(2, pcall(search, "bayesian")).message)
  return
end

-- The command and its library in another folder, beside a plug-in that is none.
local build, folder = arg[-1]:match "^(.*)/bin/[^/]*$", os.tmpname()
local text = ([[
  f='%s' && b=$(realpath '%s') && rm $f && mkdir -p $f/bin $f/lib/tessera &&
  cp "$b/bin/tessera" $f/bin && cp "$b/lib/libtessera.so.1" $f/lib &&
  ln -s "$b/lib/lua" $f/lib && echo none > $f/lib/tessera/gsl.so &&
  $f/bin/tessera '%s' search 2>&1; rm -r $f]]):format(folder, build, arg[0])
local f = assert(io.popen(text))
local said = f:read "a"
f:close()
local why = "gsl.so: file too short"
local first, second = said:match "^quiet\n([^\n]*)\ntrue\ntrue\n([^\n]*)\n$"
assert(first, said)
assert(first:find("tessera: warning: no Gaussian process without", 1, true) and
       first:find(why, 1, true) and second:find(why, 1, true) and
       second:find('the surrogate "gp" of strategy', 1, true), said)
