-- SPDX-License-Identifier: Apache-2.0
-- bench/peers.lua reads Kernel Tuner's cache files, and says what is none;
-- bench/outer.lua chooses options on them.
local root = arg[0]:match "^(.*)/tests/lua/[^/]+$" or "."
local path = os.tmpname()
os.remove(path)
path = path .. ".json"

local function run(text, what, script, first)
  if text then
    local f <close> = assert(io.open(path, "w"))
    f:write(text)
  end
  local f = assert(io.popen(("'%s' '%s/bench/%s.lua' %s '%s' %s 2>&1"):format(
    arg[-1], root, script or "peers", first or "",
    text and path or root .. "/LICENSE", what)))
  local said = f:read "a"
  f:close()
  os.remove(path)
  return said
end

-- Five of six points, of which one failed.
local points = { ["1,1"] = "3.0", ["1,2"] = "2.0", ["4,1"] = "1.0",
                 ["2,1"] = '"RuntimeFailedConfig"', ["2,2"] = "1.5" }
local list = {}
for key, time in pairs(points) do
  local a, b = key:match "(%d),(%d)"
  list[#list + 1] = ('"%s":{"a":%s,"b":%s,"time":%s}'):format(key, a, b, time)
end
local head = '{"tune_params_keys":["a","b"],' ..
             '"tune_params":{"a":[1,2,4],"b":[1,2]},"cache":{'
local whole = head .. table.concat(list, ",") .. "}}"
local said = run(whole,
                 "--seeds 2 --trials 25 --search 'replay;hybrid'")
for _, search in ipairs { "replay", "hybrid" } do
  assert(said:find(search .. "%s+1%.000%s+2/2"), said)
end

for text, why in pairs {
    ["{"] = "is no JSON", ["[]"] = "it has no tune_params_keys",
    ['{"tune_params_keys":[],"tune_params":{}}'] = "it has no cache",
    [head .. "}}"] = "no point of it ran" } do
  said = run(text, "")
  assert(said:find(path .. ": ", 1, true) and said:find(why, 1, true) and
         not said:find "traceback", said)
end
said = run(nil, "")
assert(said:find("LICENSE: there is no .json or .json.gz", 1, true), said)

-- The first of equal settings stays, and both are judged.
said = run(whole, "--seeds 2 --trials 25 --judge '" .. path .. "'", "outer",
           "'genetic:population_size=8|4'")
assert(said:find "population_size=4%s+0%.000" and
       said:find("chosen: genetic:population_size=8\njudged: ", 1, true) and
       select(2, said:gsub("judged: %S+%s+1%.000", "")) == 2, said)
said = run(whole, "", "outer", "genetic")
assert(said:find("names no option", 1, true), said)
