-- SPDX-License-Identifier: Apache-2.0
-- Every operator computes what plain loops do (tests/naive), interpreted and
-- compiled, at small, odd and unit shapes.
local ts = require "tessera"
local ops = require "tessera.ops"
local declare = require "tessera.ops.declare"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")

local path = os.getenv "TESSERA_NAIVE" or
             arg[-1]:gsub("[^/]*$", "") .. "../tests/naive.so"
local naive = assert(package.loadlib(path, "luaopen_naive"))()

-- Relative to what is wanted, or to 1: some roundings of each type.
local tolerances = { float16 = 0.01, bfloat16 = 0.06, float32 = 2e-5,
                     float64 = 1e-12 }

local function copies(args)
  local own = {}
  for i, t in ipairs(args) do
    own[i] = ts.tensor(t:dtype(), t:shape())
    own[i]:copy_from(t)
  end
  return own
end

-- All tensors after a run are what the loops say, inputs included.
local function compare(row, want, got, who)
  for i, t in ipairs(got) do
    local tolerance = tolerances[t:dtype()] or 0
    if row.tolerance and tolerance > 0 then
      tolerance = math.max(tolerance, row.tolerance)
    end
    local at, wanted, found = naive.differ(want[i], t, tolerance)
    if at then
      error(("%s, %s: element %d of parameter %d is %.9g, not %.9g"):format(
            op_rows.told(row), who, at, i, found, wanted), 0)
    end
  end
end

-- What Winograd's U is of weights W: made by the operator for that.
local function winograd(row, args)
  local o = row.options
  local nchw = row.name:find "nchw" ~= nil
  local p = ops.winograd_weight { ci = o.ci, co = o.co, tile = o.tile,
    layout = nchw and "NCHW" or "NHWC", dtype = o.dtype }
  local x = p:params()[1]
  local W = ts.tensor(x.dtype, x.shape, "integers", 5)
  ts.interpret(p, { W, args[2] })
  return W
end

local seen = {}
local function check(row, program)
  local args = op_rows.arguments(row, program)
  local all = copies(args)
  if row.fill == "winograd" then
    local W = winograd(row, args)
    all = copies(args)
    all[#all + 1] = W
  end
  local want = naive.run(row.name, row.options, all)
  local interpreted, compiled = copies(args), copies(args)
  ts.interpret(program, interpreted)
  compare(row, want, interpreted, "interpreted")
  ts.build(program, "llvm")(table.unpack(compiled))
  compare(row, want, compiled, "compiled")
  seen[row.name] = true
end

for _, row in ipairs(op_rows.rows) do
  local ok, program = pcall(ops[row.name], row.options)
  if not ok then error(op_rows.told(row) .. ": " .. tostring(program), 0) end
  check(row, program)
end
for _, row in ipairs(declare.list) do
  assert(seen[row.name], row.name .. " is not tested")
end
print(#op_rows.rows .. " calls of " .. #declare.list .. " operators")
