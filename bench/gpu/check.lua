-- SPDX-License-Identifier: Apache-2.0
-- Compares what the card of this machine computes with the interpreter:
--   tessera bench/gpu/check.lua KIND COUNT [SHARD SHARDS]
-- COUNT random candidates of each small workload of a kind: suite, binding,
-- tensor_core, bert, transposed, rotated, direct, fetched.  With SHARDS, each
-- SHARDS-th candidate from SHARD on.
local ts = require "tessera"
local kind, count = arg[1], tonumber(arg[2])
local shard, shards = tonumber(arg[3] or 0), tonumber(arg[4] or 1)
local here = arg[0]:gsub("[^/]*$", "")
local target = ts.target "cuda"

-- Inputs of small integers, so that sums are exact.
local function tensors(p)
  local list = {}
  for i, x in ipairs(p:params()) do
    local t = ts.tensor(x.dtype, x.shape)
    if x.role ~= "output" then
      local n = 1
      for _, d in ipairs(x.shape) do n = n * d end
      local index = {}
      for k = 0, n - 1 do
        local rest = k
        for d = #x.shape, 1, -1 do
          index[d] = rest % x.shape[d]
          rest = rest // x.shape[d]
        end
        local v = ((k + 131 * i) * 2654435761 >> 7) % 5 - 2
        if x.dtype:find "^u" or x.dtype == "bool" then v = v > 0 and 1 or 0 end
        index[#x.shape + 1] = v
        t:set(table.unpack(index))
      end
    end
    list[i] = t
  end
  return list
end

local bound = { float16 = 0.01, bfloat16 = 0.06, float32 = 1e-4,
                float64 = 1e-9 }

local function compare(p, got, want)
  for i, x in ipairs(p:params()) do
    local most = got[i]:compare(want[i])
    if not (most <= (bound[x.dtype] or 0)) then
      return ("'%s' differs by %g"):format(x.name, most)
    end
  end
end

local function check(name, p, scheduled, want)
  local ok, kernel = pcall(ts.build, scheduled, target)
  if not ok then return "refused: " .. tostring(kernel) end
  local got = tensors(p)
  local ran, why = pcall(kernel, table.unpack(got))
  if not ran then return tostring(why) end
  return compare(p, got, want)
end

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))
local cases = here .. "../../tests/support/gpu_cases.lua"
assert(loadfile(cases, "t", setmetatable({
  arg = { [0] = cases, kind, tostring(count), folder } }, { __index = _G })))()

local right, wrong, refused, number = 0, 0, 0, 0
local wants, bases = {}, {}
for line in io.lines(folder .. "/index") do
  number = number + 1
  local base, file = line:match "(%S+) (%S+)"
  if number % shards == shard then
    local p = bases[base] or ts.load_program(folder .. "/" .. base)
    bases[base] = p
    if not wants[base] then
      wants[base] = tensors(p)
      ts.interpret(p, wants[base])
    end
    local why = check(file, p, ts.load_program(folder .. "/" .. file),
                      wants[base])
    if not why then
      right = right + 1
    elseif why:find "^refused" then
      refused = refused + 1
      print(file .. ": " .. why)
    else
      wrong = wrong + 1
      print(file .. ": WRONG: " .. why)
    end
  end
end
os.execute("rm -r " .. folder)
print(("%s %d/%d: %d right, %d refused, %d wrong"):format(kind, shard, shards,
      right, refused, wrong))
os.exit(wrong == 0)
